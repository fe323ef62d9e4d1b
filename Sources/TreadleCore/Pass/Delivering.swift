// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Handing a batch to the client: `next` takes one callout after the other out of it, with what follows the one before;
/// who takes it calls it (`deliver`), or returns it to a host that calls it itself.
extension Loop {
  /// Calls what is in the batch, until it is empty or the run must end.
  func deliver(_ frame: Frame.Pointer) {
    if Watch.isObserved { return deliverWatched(frame) }
    switch frame.pointee.batch.kind {
    case .observers: tellObservers(frame)
    case .sources: performSources(frame)
    case .blocks: callBlocks(frame)
    case .timers: fireTimers(frame)
    case .descriptor: performDescriptor(frame)
    case .port: receiveMessage(frame)
    case .none: break
    }
  }

  // Each kind is a function of its own: what the inliner may take into one function is limited, and the last kinds
  // would get calls where the first have none.
  @inline(never)
  private func tellObservers(_ frame: Frame.Pointer) { while nextObserver(frame) && callItemWithValue(frame) {} }
  @inline(never)
  private func performSources(_ frame: Frame.Pointer) {
    while nextSource(frame) && (frame.pointee.callout.kind == .source ? callItem(frame) : callJob(frame)) {}
  }
  @inline(never)
  private func callBlocks(_ frame: Frame.Pointer) { while nextBlock(frame, callingGroups: true) && callBlock(frame) {} }
  @inline(never)
  private func fireTimers(_ frame: Frame.Pointer) { while nextTimer(frame) && callItem(frame) {} }
  @inline(never)
  private func performDescriptor(_ frame: Frame.Pointer) { while nextDescriptor(frame) && callItemWithValue(frame) {} }
  @inline(never)
  private func receiveMessage(_ frame: Frame.Pointer) { while nextMessage(frame) && callPort(frame) {} }

  /// What follows the callback of an item: its counted reference goes back, or that which was left to the loop during
  /// the call. The client may have been called by that.
  @inline(__always)
  func settleItem(_ frame: Frame.Pointer) {
    if frame.pointee.callout.item == nil { return }
    lock()
    let dropped = endCallout(frame)
    unlock()
    dropped?.drop()
  }

  /// An item is the frame's callout no more. The item, if a reference to it is to be dropped when the lock is free. The
  /// lock is held.
  @inline(__always)
  func endCallout(_ frame: Frame.Pointer) -> Item? {
    guard let item = frame.pointee.callout.item else { return nil }
    // A run inside of the call has ended it for others.
    let isDropped = frame.pointee.callout.isHeld || endCalling()
    frame.pointee.callout.clear()
    return isDropped ? item : nil
  }

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
      state.counters.timers.count(frame.pointee.batch.calledCount)
      frame.pointee.mode.reinstateTimers(frame.pointee.batch.entries, from: frame.pointee.batch.index)
    case .observers, .descriptor, .port, .none: break
    }
    frame.pointee.batch.close()
  }
}

/// How a callout ends.
enum Outcome {
  case returned
  /// It never returns: its thread ends inside of it, or its host has left the run.
  case abandoned
  /// It was not called: it is an event of a host that fetches it, and stays where it is.
  case leftToHost
}

extension Loop {
  /// Ends the frame's callout, without taking the next one: who gets the control now may close what was called, or end
  /// the run. A step that goes on ends its last callout itself, with what begins the next one (`nextSource`).
  @inline(never)
  func settle(_ frame: Frame.Pointer, _ outcome: Outcome) {
    // Clients that are called from here on may run the loop.
    holdCalled(frame)
    let callout = frame.pointee.callout
    let isLeft = outcome == .leftToHost
    frame.pointee.callout.clear()
    switch callout.kind {
    case .source:
      if isLeft {
        frame.pointee.batch.keptCount &+= 1
        if let item = callout.item { _ = try? Item.signal(item.handlePointer, wake: false) }
      }
    case .timer:
      if isLeft { frame.pointee.batch.keptCount &+= 1 }
      callout.item?.releaseAfterCall()
      callout.item?.settleFiring(isLeft ? .withdrawn : .due)
    case .observer:
      if isLeft {
        callout.item?.setState(0, clear: Item.State.running | Item.State.spent)
      } else {
        callout.item?.endObserving()
      }
    case .descriptor: _ = closeBatch(frame)
    case .message:
      callout.message?.drop()
      _ = closeBatch(frame)
    case .block:
      if isLeft { frame.pointee.batch.putBack(1) } else { endBlocks(frame, .none) }
    case .scopedPost: settleScopedPost(frame)
    case .job: if let job = callout.job { settleJob(job, outcome) }
    // A timer that was about to be called; or a port.
    case .none: if callout.item?.isOf(.timer) == true { callout.item?.settleFiring(.withdrawn) }
    }
    callout.item?.drop()
  }
}

extension Item {
  /// Whether its main callback is this very host's.
  func isCalled(by host: UnsafeMutableRawPointer) -> Bool {
    guard hasTrait(Trait.indirect), let context else { return false }
    return context.pointee.main.isOf(host)
  }
}
