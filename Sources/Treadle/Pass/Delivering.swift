// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Handing a batch to the client: `next` takes one callout after the other out of it, with what follows the one before; who
/// takes it calls it (`deliver`), or returns it to a host that calls it itself.
extension Loop {
  /// Calls what is in the batch, until it is empty or the run must end.
  func deliver(_ frame: Frame.Pointer) {
    if Watch.isOn { return deliverWatched(frame) }
    switch frame.pointee.batch.kind {
    case .observers: tellObservers(frame)
    case .sources: performSources(frame)
    case .blocks: callBlocks(frame)
    case .timers: fireTimers(frame)
    case .descriptor: performDescriptor(frame)
    case .none: break
    }
  }

  // Each kind is a function of its own: what the inliner may take into one function is limited, and the last kinds would
  // get calls where the first have none.
  @inline(never)
  private func tellObservers(_ frame: Frame.Pointer) { while nextObserver(frame) && callItemWithValue(frame) {} }
  @inline(never)
  private func performSources(_ frame: Frame.Pointer) {
    while nextSource(frame) && (frame.pointee.callout.kind == .source ? callItem(frame) : callJob(frame)) {}
  }
  @inline(never)
  private func callBlocks(_ frame: Frame.Pointer) { while nextBlock(frame) && callBlock(frame) {} }
  @inline(never)
  private func fireTimers(_ frame: Frame.Pointer) { while nextTimer(frame) && callItem(frame) {} }
  @inline(never)
  private func performDescriptor(_ frame: Frame.Pointer) { while nextDescriptor(frame) && callItemWithValue(frame) {} }

  /// The next callout of the batch, if it is one of the host's and of the kind of the one that is being made, which the host
  /// has completed: so that many small events of a host are handed out at one call. Nothing that the run does in between is
  /// left out, and nobody else is called.
  func nextOfHost(_ frame: Frame.Pointer, _ host: UnsafeMutableRawPointer) -> Bool {
    if Watch.isOn { return false }
    switch (frame.pointee.batch.kind, frame.pointee.callout.kind) {
    case (.sources, .source):
      // A run that returns after a source, and jobs, take their turn when this call has returned.
      if frame.pointee.flags & Frame.Flag.returnAfterSource != 0 || !frame.pointee.batch.jobs.isOver { return false }
      while let entry = frame.pointee.batch.first {
        if let item = frame.pointee.mode.signalled(entry) { return item.isCalled(by: host) && nextSource(frame, onlyFirst: true) }
        frame.pointee.batch.skip()
        frame.pointee.batch.keptCount &+= 1
      }
      return false
    case (.blocks, .block):
      while let entry = frame.pointee.batch.first, !admits(frame.pointee.mode, entry) { frame.pointee.batch.keepFirst() }
      guard frame.pointee.batch.first?.node?.pointee.isCalled(by: host) == true else { return false }
      frame.pointee.callout.block.node?.pointee.complete()
      return nextBlock(frame)
    default: return false
    }
  }

  /// What follows the callback of an item: its counted reference goes back, and what was left to the loop during the call.
  /// True if there was anything: the client may have been called.
  @inline(__always)
  @discardableResult
  func settleItem(_ frame: Frame.Pointer) -> Bool {
    let held = frame.pointee.callout.isHeld ? frame.pointee.callout.item : nil
    frame.pointee.callout.clear()
    held?.drop()
    let hasDropped = endNaming()
    return hasDropped || held != nil
  }

  /// The end of a batch whose items were named.
  @inline(__always)
  func closeBatch(_ frame: Frame.Pointer) -> Bool {
    frame.pointee.batch.close()
    return false
  }

  /// What was taken for a batch, and not handed out, is put back: the run ends.
  func abandonBatch(_ frame: Frame.Pointer) {
    switch frame.pointee.batch.kind {
    case .sources: putBackSources(frame)
    case .blocks: endDrain(frame)
    case .timers:
      state.pointee.counters.timers.count(frame.pointee.batch.calledCount)
      frame.pointee.mode.reinstateTimers(frame.pointee.batch.entries, from: frame.pointee.batch.index)
    case .observers, .descriptor, .none: break
    }
    frame.pointee.batch.close()
  }

  /// The callout that is being made never returns: its thread ends inside of it.
  func abandonCallout(_ frame: Frame.Pointer) {
    let callout = frame.pointee.callout
    // Clients that are called from here on may run the loop, where the item is not named any more.
    callout.item?.holdAgain()
    frame.pointee.callout.clear()
    switch callout.kind {
    case .block: if let node = callout.block.node { BlockNode.free(node) }
    case .job: if let job = callout.job { job.pointee.finish(job, Job.Phase.dropped) }
    case .timer:
      if let item = callout.item {
        item.releaseAfterCall()
        item.settleFiring(.due)
      }
    case .observer: callout.item?.endObserving()
    // A timer that was to be fired next.
    case .none: callout.item?.settleFiring(.withdrawn)
    case .source, .descriptor: break
    }
    callout.item?.drop(callout.isHeld ? 2 : 1)
  }
}

extension Item {
  /// Whether its main callback is this very host's.
  func isCalled(by host: UnsafeMutableRawPointer) -> Bool {
    guard hasTrait(Trait.indirect), let context else { return false }
    return context.pointee.main.object == host && context.pointee.main.direct == nil
  }
}
