// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// PASS-5: performing what was signalled. The cost is that of the signalled sources, however many the
/// mode has.
extension Loop {
  /// Takes the signalled sources of the mode, in the order of their calls: ascending by order, then by
  /// the time of the first signal (SRC0-7).
  @inline(__always)
  func collectSources(_ frame: UnsafeMutablePointer<Frame>) {
    frame.pointee.collected.removeAll()
    frame.pointee.collectedIndex = 0
    if frame.pointee.mode.state.pointee.signalledCount.load(ordering: .acquiring) != 0 {
      state.pointee.gate.lock()
      takeSignalled(frame)
      state.pointee.gate.unlock()
    }
    if frame.pointee.outer != nil { collectFromOuterRuns(frame) }
    if frame.pointee.collected.count > 1 { putInOrder(frame) }
    collectRequests(frame)
  }

  /// Takes the mode's queue of signals, in exchange for the frame's empty room. The gate is held.
  @inline(__always)
  private func takeSignalled(_ frame: UnsafeMutablePointer<Frame>) {
    let queue = frame.pointee.mode.state
    swap(&frame.pointee.collected, &queue.pointee.signalled)
    queue.pointee.signalledCount.store(0, ordering: .releasing)
    queue.pointee.staleSignals = 0
    noteTaken(frame.pointee.collected.count)
  }

  /// PASS-13 to PASS-5 of the next pass in one, for a run in which nothing but signalled sources can have
  /// any effect there: no observer, block, request, timer, descriptor, deadline or stop, no call whose end it
  /// awaits, and no release that was put off. False if there may be.
  @inline(__always)
  func startQuietPass(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard frame.pointee.isEndless, frame.pointee.outer == nil, frame.pointee.awaited == nil else { return false }
    let mode = frame.pointee.mode.state
    guard mode.pointee.signalledCount.load(ordering: .acquiring) != 0,
      mode.pointee.interest.load(ordering: .acquiring) == 0,
      mode.pointee.content.load(ordering: .acquiring) != 0,
      mode.pointee.earliest.load(ordering: .acquiring) == Clock.forever,
      mode.pointee.poller.load(ordering: .acquiring) == nil,
      state.pointee.incomingCount.load(ordering: .acquiring) == 0, state.pointee.deferred.isEmpty,
      frame.pointee.requestLimit == 0, !hasRequests, Pool.isUnused(since: frame.pointee.poolMark), !isStopAsked
    else { return false }
    letOthersQueueMore(frame.pointee.mode)
    state.pointee.gate.lock()
    // Once more: a request that was queued before a source was signalled is not performed after it (PERF-5).
    if hasIncomingRequests {
      state.pointee.gate.unlock()
      return false
    }
    frame.pointee.collected.removeAll()
    frame.pointee.collectedIndex = 0
    frame.pointee.handled = false
    // PASS-1. Under the gate, which whoever gives a reason for a wake-up takes before or after this.
    state.pointee.wakePending.store(0, ordering: .relaxed)
    takeSignalled(frame)
    state.pointee.gate.unlock()
    if frame.pointee.collected.count > 1 { putInOrder(frame) }
    return true
  }

  /// What outer runs of the same mode have collected but not reached is performed here (RUN-13); they
  /// find the signals used up.
  private func collectFromOuterRuns(_ frame: UnsafeMutablePointer<Frame>) {
    var outer = frame.pointee.outer
    while let run = outer {
      if run.pointee.mode.slot == frame.pointee.mode.slot {
        var index = run.pointee.collectedIndex
        // Where they stand among the others, the time of their signals decides.
        while let mention = run.pointee.collected[index], frame.pointee.collected.append(mention) { index &+= 1 }
      }
      outer = run.pointee.outer
    }
  }

  /// Performs the source that the frame's callout names, and those behind it, with nothing else in between;
  /// also those of the passes after this one, as long as these are quiet.
  @inline(__always)
  func performSources(_ frame: UnsafeMutablePointer<Frame>) {
    guard var item = frame.pointee.callout.item else { return }
    while true {
      callPlainItem(item, frame)
      // The rest is `advance`'s: also where requests have their turn.
      if mustEnd(frame) || frame.pointee.requestLimit != 0 { return }
      frame.pointee.callout.set(.none)
      // A host may have gone on to another one.
      if frame.pointee.callout.isHeld { frame.pointee.callout.item?.drop() }
      // What is dropped, here or in `takeSource`, may call the client, who may end everything.
      var next = mustEnd(frame) ? nil : takeSource(frame)
      if next == nil && !mustEnd(frame) && startQuietPass(frame) { next = takeSource(frame) }
      guard let next else {
        unprotect()
        return
      }
      frame.pointee.callout.setItem(.source, next)
      item = next
    }
  }

  /// No callback may begin any more: a host's failed, or everything was shut down.
  @inline(__always)
  func mustEnd(_ frame: UnsafeMutablePointer<Frame>) -> Bool { frame.pointee.failed || treadle_system_is_closed() }

  /// The source that comes next in the pass, in the frame's callout, if it is the host's, which has completed the
  /// one before it. Owner.
  func handOnSource(_ frame: UnsafeMutablePointer<Frame>, to host: Host) -> Item? {
    if frame.pointee.requestLimit != 0 || frame.pointee.flags & Frame.Flag.returnAfterSource != 0 { return nil }
    frame.pointee.callout.set(.none)
    if frame.pointee.callout.isHeld { frame.pointee.callout.item?.drop() }
    frame.pointee.callout.isHeld = false
    while let bits = frame.pointee.collected[frame.pointee.collectedIndex] {
      frame.pointee.collectedIndex &+= 1
      let following = frame.pointee.collectedIndex
      if let item = takeNow(Mention(bits: bits), frame, only: host) {
        frame.pointee.callout.setItem(.source, item)
        return item
      }
      if frame.pointee.collectedIndex != following { break }
    }
    unprotect()
    return nil
  }

  /// The next source or request to perform, in the frame's callout; false at the end.
  @inline(__always)
  func nextSource(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if frame.pointee.requestLimit != 0 { return nextSourceOrRequest(frame) }
    guard let item = takeSource(frame) else {
      unprotect()
      return false
    }
    frame.pointee.callout.setItem(.source, item)
    return true
  }

  /// The same while the pass has requests to perform, which take their turn among the sources (PERF-5).
  @inline(never)
  private func nextSourceOrRequest(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if frame.pointee.requestsBegan && nextRequest(frame) { return true }
    if leavesSources(frame) { return false }
    while true {
      // A source that turned out not to be due may be protected still, and a request is no source.
      unprotect()
      if mustEnd(frame) { return false }
      if frame.pointee.requestLimit != 0 && nextRequest(frame) { return true }
      guard let bits = frame.pointee.collected[frame.pointee.collectedIndex] else { return false }
      frame.pointee.collectedIndex &+= 1
      if let item = takeNow(Mention(bits: bits), frame, only: nil) {
        frame.pointee.callout.setItem(.source, item)
        return true
      }
    }
  }

  /// `take` where a call more does not matter.
  @inline(never)
  private func takeNow(_ mention: Mention, _ frame: UnsafeMutablePointer<Frame>, only host: Host?) -> Item? {
    take(mention, frame) { item in
      guard let host else { return true }
      return item.isCalled(by: host)
    }
  }

  /// A run that returns after a source leaves the rest of them to a later pass.
  @inline(__always)
  private func leavesSources(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard frame.pointee.handled && frame.pointee.flags & Frame.Flag.returnAfterSource != 0 else { return false }
    frame.pointee.requestLimit = 0
    putBackCollected(frame)
    return true
  }

  /// The next source to perform, protected. Nil at the end.
  @inline(__always)
  private func takeSource(_ frame: UnsafeMutablePointer<Frame>) -> Item? {
    if leavesSources(frame) { return nil }
    while let bits = frame.pointee.collected[frame.pointee.collectedIndex] {
      frame.pointee.collectedIndex &+= 1
      if let item = take(Mention(bits: bits), frame) { return item }
      if mustEnd(frame) { return nil }
    }
    return nil
  }

  /// The source of a mention, protected, if it is to be performed: its signal is used up before the call, so
  /// that one given meanwhile is new (SRC0-8). One that is not wanted is left, with all behind it.
  @inline(__always)
  private func take(
    _ mention: Mention, _ frame: UnsafeMutablePointer<Frame>, if isWanted: (Item) -> Bool = { _ in true }
  ) -> Item? {
    let mode = frame.pointee.mode
    let due = Item.Flag.valid | Item.Flag.signalled
    Item(.source, slot: mention.slot)?.prefetchForWriting()
    guard let member = mention.cell(.source, in: mode) else { return nil }
    let flags = member.flags
    let item = flags & Item.Flag.alias == 0 ? member : member.primary
    // A mention that cannot mean anything any more is passed over without further ado.
    if flags & Item.Flag.alias == 0 && flags & due != due { return nil }
    if protect(item), mustEnd(frame) {
      // The client was called, and ended the run: this one is left with the others.
      frame.pointee.collectedIndex &-= 1
      return nil
    }
    // An alias that is a member still has been one of the same item throughout.
    guard mention.cell(.source, in: mode) != nil, item.flags & due == due else { return nil }
    if !isWanted(item) {
      frame.pointee.collectedIndex &-= 1
      return nil
    }
    let old = item.clearFlag(Item.Flag.signalled | Item.Flag.wakeWanted | Item.Flag.repeated)
    if old & due != due { return nil }
    if old & Item.Flag.repeated != 0 { state.pointee.isOverrun = true }
    frame.pointee.handled = true
    return item
  }

  /// Sources that were collected but are left for a later pass are queued again; the time of their signals
  /// keeps their place.
  func putBackCollected(_ frame: UnsafeMutablePointer<Frame>) {
    let mode = frame.pointee.mode
    var kept = 0
    while let bits = frame.pointee.collected[frame.pointee.collectedIndex] {
      frame.pointee.collectedIndex &+= 1
      frame.pointee.collected.set(kept, bits)
      kept &+= 1
    }
    frame.pointee.collected.truncate(kept)
    frame.pointee.collectedIndex = kept
    if kept == 0 { return }
    // Those signalled meanwhile join them in the larger of the two rooms, so that nothing is allocated.
    state.pointee.gate.lock()
    for bits in mode.state.pointee.signalled.elements where !frame.pointee.collected.append(bits) {
      // Out of memory: without its place in the queue a signal must not stand in the way of later ones.
      Mention(bits: bits).item(.source, in: mode)?.clearFlag(Item.Flag.signalled | Item.Flag.wakeWanted)
    }
    swap(&frame.pointee.collected, &mode.state.pointee.signalled)
    mode.state.pointee.signalledCount.store(mode.state.pointee.signalled.count, ordering: .releasing)
    state.pointee.gate.unlock()
    frame.pointee.collected.removeAll()
    frame.pointee.collectedIndex = 0
  }

  // MARK: PASS-12

  /// One ready descriptor source, in the frame's callout; false when there is none. The kernel is asked
  /// at most once a pass, when what it reported before is used up.
  @inline(__always)
  func nextDescriptor(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard frame.pointee.mode.poller != nil else { return false }
    if nextReported(frame) { return true }
    if frame.pointee.asked { return false }
    frame.pointee.asked = true
    return frame.pointee.mode.pollDescriptors() && nextReported(frame)
  }

  private func nextReported(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    while let (item, events) = frame.pointee.mode.takeReady() {
      if item.hasFlag(Item.Flag.acknowledged) && !item.acknowledge(frame.pointee.mode) {
        item.drop()
        continue
      }
      frame.pointee.handled = true
      frame.pointee.mode.state.pointee.lastWasTimers = false
      frame.pointee.step = .lastBlocks
      frame.pointee.callout.setItem(.descriptor, item, value: events)
      return true
    }
    return false
  }
}
