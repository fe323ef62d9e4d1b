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
    frame.pointee.clearCollected()
    var isMixed = false
    if frame.pointee.mode.state.pointee.signalledCount.load(ordering: .acquiring) != 0 {
      letOthersQueueMore(frame.pointee.mode)
      state.pointee.gate.lock()
      isMixed = takeSignalled(frame)
      state.pointee.gate.unlock()
    }
    if !frame.pointee.mode.state.pointee.ownSignals.isEmpty && takeOwnSignals(frame) { isMixed = true }
    if frame.pointee.outer != nil {
      collectFromOuterRuns(frame)
      isMixed = true
    }
    if isMixed { putInOrder(frame) }
    collectRequests(frame)
  }

  /// Takes the mode's queue of signals, in exchange for the frame's empty room. True if they may be out of order. The
  /// gate is held.
  @inline(__always)
  func takeSignalled(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let queue = frame.pointee.mode.state
    var isMixed = queue.pointee.signalsAreMixed
    let lone = queue.pointee.loneSignal
    if !queue.pointee.signalled.isEmpty {
      frame.pointee.collected.takeAll(of: &queue.pointee.signalled)
      // It goes before them, by its time.
      if lone != 0 { isMixed = true }
    }
    // Without memory it waits for the next pass.
    let isTaken = lone == 0 || frame.pointee.collected.append(lone)
    if isTaken { queue.pointee.loneSignal = 0 }
    queue.pointee.signalledCount.store(isTaken ? 0 : 1, ordering: .releasing)
    queue.pointee.staleSignals = 0
    queue.pointee.signalsAreMixed = false
    queue.pointee.ownStreak = 0
    noteTaken(frame.pointee.collected.count)
    return isMixed
  }

  /// The same for what the owner signalled itself, behind what was taken already.
  @inline(__always)
  func takeOwnSignals(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let queue = frame.pointee.mode.state
    let isMixed = queue.pointee.ownSignalsAreMixed || !frame.pointee.collected.isEmpty
    if frame.pointee.collected.isEmpty {
      takeOwnSignalsWhereTheyAre(frame)
    } else if frame.pointee.collected.reserve(frame.pointee.collected.count &+ queue.pointee.ownSignals.count) {
      for signal in queue.pointee.ownSignals.elements { _ = frame.pointee.collected.appendInRoom(signal.mention.bits) }
      queue.pointee.ownSignals.removeAll()
    } else {
      // Without memory they wait for the next pass. Among what is taken now may be what says that some of them are stale.
      queue.pointee.ownSignalsAreMixed = true
      return isMixed
    }
    queue.pointee.ownSignalsAreMixed = false
    return isMixed
  }

  /// The mentions are written over the signals that they are taken from, and the frame's empty room is the queue's then: so
  /// what is signalled is performed without any memory.
  private func takeOwnSignalsWhereTheyAre(_ frame: UnsafeMutablePointer<Frame>) {
    let queue = frame.pointee.mode.state
    let (base, bytes) = queue.pointee.ownSignals.memory
    var count = 0
    for signal in queue.pointee.ownSignals.elements {
      // It is half as large, and so lies in front of what has not been read.
      base?.storeBytes(of: signal.mention.bits, toByteOffset: count &* MemoryLayout<UInt64>.stride, as: UInt64.self)
      count &+= 1
    }
    let room = frame.pointee.collected.exchange((base, bytes), count: count)
    _ = queue.pointee.ownSignals.exchange(room, count: 0)
  }

  /// The same for a pass that has nothing else, if they are in order, and there is room for them in `collected`: as they are.
  /// False if not.
  @inline(__always)
  func takeOwned(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let queue = frame.pointee.mode.state
    if queue.pointee.ownSignalsAreMixed || !frame.pointee.collected.hasRoom(queue.pointee.ownSignals.count) { return false }
    frame.pointee.owned.takeAll(of: &queue.pointee.ownSignals)
    frame.pointee.ownedIndex = 0
    let reading = clock
    frame.pointee.ownedAsOf = queue.pointee.ownedAsOf == reading ? reading : Loop.never
    // Of those that come from now on.
    queue.pointee.ownedAsOf = reading
    return true
  }

  /// What a pass has taken so, and not reached, is what it has collected.
  @inline(__always)
  func collectRest(_ frame: UnsafeMutablePointer<Frame>) {
    if frame.pointee.ownedIndex < frame.pointee.owned.count { collectOwned(frame) }
  }

  @inline(never)
  @_optimize(size)
  private func collectOwned(_ frame: UnsafeMutablePointer<Frame>) {
    while let signal = frame.pointee.owned[frame.pointee.ownedIndex], frame.pointee.collected.appendInRoom(signal.mention.bits) {
      frame.pointee.ownedIndex &+= 1
    }
    frame.pointee.owned.removeAll()
  }

  /// What outer runs of the same mode have collected but not reached is performed here (RUN-13); they
  /// find the signals used up.
  @_optimize(size)
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

  /// No callback may begin any more: a host's failed, or everything was shut down.
  @inline(__always)
  func mustEnd(_ frame: UnsafeMutablePointer<Frame>) -> Bool { frame.pointee.failed || treadle_system_is_closed() }

  /// The source that comes next in the pass, in the frame's callout, if it is the host's, which has completed the
  /// one before it. Owner.
  @_optimize(size)
  func handOnSource(_ frame: UnsafeMutablePointer<Frame>, to host: Host) -> Item? {
    collectRest(frame)
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

  /// `take` where a call more does not matter. A source that is not the host's is left, with all behind it.
  @inline(never)
  @_optimize(size)
  private func takeNow(_ mention: Mention, _ frame: UnsafeMutablePointer<Frame>, only host: Host?) -> Item? {
    if let host, !mayBeTaken(mention, frame, by: host) {
      frame.pointee.collectedIndex &-= 1
      return nil
    }
    return take(mention, frame)
  }

  /// Whether the host calls a mention's source, or `take` will pass over it.
  @_optimize(size)
  private func mayBeTaken(_ mention: Mention, _ frame: UnsafeMutablePointer<Frame>, by host: Host) -> Bool {
    guard let member = Item(.source, slot: mention.slot), mention.means(member, in: frame.pointee.mode) else { return true }
    let item = member.hasFlag(Item.Flag.alias) ? member.primary : member
    // What is dropped may call the client, who may end everything.
    if protect(item), mustEnd(frame) { return false }
    return !mention.means(member, in: frame.pointee.mode) || item.isCalled(by: host)
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
  func takeSource(_ frame: UnsafeMutablePointer<Frame>) -> Item? {
    if leavesSources(frame) { return nil }
    while let bits = frame.pointee.collected[frame.pointee.collectedIndex] {
      frame.pointee.collectedIndex &+= 1
      if let item = take(Mention(bits: bits), frame) { return item }
      if mustEnd(frame) { return nil }
    }
    return nil
  }

  /// The source of a mention, protected, if it is to be performed: its signal is used up before the call, so
  /// that one given meanwhile is new (SRC0-8).
  @inline(__always)
  private func take(_ mention: Mention, _ frame: UnsafeMutablePointer<Frame>) -> Item? {
    let mode = frame.pointee.mode
    guard let member = Item(.source, slot: mention.slot) else { return nil }
    member.prefetchForWriting()
    if member.cell.pointee.flags.load(ordering: .relaxed) & Item.Flag.owned != 0 {
      if !mention.means(member, in: mode) { return nil }
      if !findOwnedSignal(QueuedSignal(member), in: mode) { return takeDisowned(mention, member, frame) }
      frame.pointee.handled = true
      return member
    }
    guard mention.means(member, in: mode) else { return nil }
    let flags = member.flags
    let item = flags & Item.Flag.alias == 0 ? member : member.primary
    announce(item)
    let used = item.useSignal()
    if hasLeft || used == 0 || !mention.means(member, in: mode) { return takeSlowly(mention, member, item, used, frame) }
    // An alias that is a member still has been one of the same item throughout.
    if used & Item.Flag.repeated != 0 { state.pointee.isOverrun = true }
    frame.pointee.handled = true
    return item
  }

  /// The same for a source that was owned just now: from here on it is not.
  @inline(never)
  @_optimize(size)
  private func takeDisowned(_ mention: Mention, _ member: Item, _ frame: UnsafeMutablePointer<Frame>) -> Item? {
    guard mention.means(member, in: frame.pointee.mode), member.isSignalled else { return nil }
    member.disownForSignal()
    announce(member)
    return takeSlowly(mention, member, member, member.useSignal(), frame)
  }

  /// What remains if the item is not to be performed, or something was left to the owner.
  @inline(never)
  @_optimize(size)
  private func takeSlowly(
    _ mention: Mention, _ member: Item, _ item: Item, _ used: UInt32, _ frame: UnsafeMutablePointer<Frame>
  ) -> Item? {
    _ = protect(item)
    if used == 0 { return nil }
    if mention.means(member, in: frame.pointee.mode) && !mustEnd(frame) {
      frame.pointee.handled = true
      return item
    }
    // It has just left the mode, or what was dropped called the client, who has ended the run: the signal is not used.
    // Should the slot serve another source by now, that one has its own signal back.
    _ = item.signal(wake: false)
    return nil
  }

  /// Sources that were collected but are left for a later pass are queued again; the time of their signals
  /// keeps their place.
  @_optimize(size)
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
    let lone = mode.state.pointee.loneSignal
    mode.state.pointee.loneSignal = 0
    if lone != 0 && !frame.pointee.collected.append(lone) {
      Mention(bits: lone).item(.source, in: mode)?.forgetSignal(self)
    }
    for bits in mode.state.pointee.signalled.elements where !frame.pointee.collected.append(bits) {
      // Out of memory: without its place in the queue a signal must not stand in the way of later ones.
      Mention(bits: bits).item(.source, in: mode)?.forgetSignal(self)
    }
    swap(&frame.pointee.collected, &mode.state.pointee.signalled)
    mode.state.pointee.signalsAreMixed = true
    mode.noteSignalledCount()
    state.pointee.gate.unlock()
    frame.pointee.clearCollected()
  }

  // MARK: PASS-12

  /// One ready descriptor source, in the frame's callout; false when there is none. The kernel is asked
  /// at most once a pass, when what it reported before is used up.
  @inline(__always)
  func nextDescriptor(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard let poller = frame.pointee.mode.poller else { return false }
    if poller.hasEvents && nextReported(frame) { return true }
    if frame.pointee.asked { return false }
    frame.pointee.asked = true
    return frame.pointee.mode.pollDescriptors() && nextReported(frame)
  }

  func nextReported(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
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
