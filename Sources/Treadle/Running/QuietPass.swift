// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// Performing one source after the other: what is signalled again and again is performed without looking around between two
/// callbacks, and from one pass to the next, as long as nothing else can have any effect.
extension Loop {
  /// Performs the source that the frame's callout names, and those behind it, with nothing else in between;
  /// also those of the passes after this one, as long as these are quiet.
  @inline(__always)
  func performSources(_ frame: UnsafeMutablePointer<Frame>) {
    guard let first = frame.pointee.callout.item else { return }
    callPlainItem(first, frame)
    var hasCalled = true
    while true {
      if hasCalled {
        // The rest is `advance`'s: also where requests have their turn.
        if mustEnd(frame) || frame.pointee.requestLimit != 0 { return }
        frame.pointee.callout.set(.none)
        if frame.pointee.callout.isHeld {
          // A host may have gone on to another one.
          frame.pointee.callout.item?.drop()
          frame.pointee.callout.isHeld = false
          if mustEnd(frame) { return unprotect() }
        }
      }
      hasCalled = performOwnedSources(frame)
      if hasCalled { continue }
      if frame.pointee.collectedIndex < frame.pointee.collected.count {
        // What is dropped here may call the client, who may end everything.
        if let next = takeSource(frame) {
          frame.pointee.callout.setItem(.source, next)
          callPlainItem(next, frame)
          hasCalled = true
          continue
        }
        if mustEnd(frame) { return unprotect() }
      }
      if startQuietPass(frame) { continue }
      // Where that has got further, to what is not quiet, there is nothing to wait for.
      if frame.pointee.step == .sources {
        if waitInQuiet(frame) && startQuietPass(frame) { continue }
        if frame.pointee.step == .sources { frame.pointee.step = .blocksAfterSources }
      }
      return unprotect()
    }
  }

  /// Performs the pass's next sources, as long as they are owned ones. True if something came up in the last one's callback:
  /// the run is to end, or another run was inside of it.
  @inline(__always)
  private func performOwnedSources(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if frame.pointee.flags & Frame.Flag.returnAfterSource != 0 { return false }
    let mode = frame.pointee.mode
    state.pointee.inHand.mode = mode.state
    // They stay where they are while this run performs them; the index is looked at and changed by others.
    let entries = frame.pointee.collected.elements
    guard let first = entries.baseAddress else { return false }
    while frame.pointee.collectedIndex < entries.count {
      let mention = Mention(bits: first[frame.pointee.collectedIndex])
      guard let item = Item(.source, slot: mention.slot), useOwnedSignal(item, mention, in: mode) else { break }
      frame.pointee.collectedIndex &+= 1
      frame.pointee.handled = true
      frame.pointee.callout.setOwnedSource(item)
      callInHand(item, frame)
      if mustEnd(frame) || frame.pointee.callout.isHeld { return true }
    }
    frame.pointee.callout.set(.none)
    return false
  }

  /// PASS-6 to PASS-5 of the next pass in one, for a run in which nothing but signalled sources and plain observers can have
  /// any effect there: no block, request, timer, ready descriptor, deadline or stop, no call whose end it awaits, and no
  /// release that was put off. False if there may be: `advance` goes on at the step that the frame names then, or behind the
  /// sources. The pass before has no requests left to perform.
  @inline(__always)
  private func startQuietPass(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode.state
    let hasOthers = mode.pointee.signalledCount.load(ordering: .acquiring) != 0
    guard hasOthers || !mode.pointee.ownSignals.isEmpty, frame.pointee.mayBeQuiet else { return false }
    if mode.pointee.poller.load(ordering: .acquiring) != nil && !findsNothingReady(frame) { return false }
    guard mode.pointee.content.load(ordering: .acquiring) != 0,
      mode.pointee.earliest.load(ordering: .acquiring) == Clock.forever, hasNothingToPerform,
      Pool.isUnused(since: frame.pointee.poolMark), !isStopAsked
    else { return false }
    if mode.pointee.interest.load(ordering: .acquiring) != 0 {
      if !startToldPass(frame) { return false }
    } else if hasOthers {
      return startQuietPassWithOthers(frame)
    } else {
      // A request that was queued before the owner signalled a source was seen just now.
      openWakeGate()
    }
    frame.pointee.collected.removeAll()
    frame.pointee.collectedIndex = 0
    frame.pointee.handled = false
    frame.pointee.asked = false
    if takeOwnSignals(frame) && frame.pointee.collected.count > 1 { putInOrder(frame) }
    return true
  }

  /// Neither blocks nor requests.
  @inline(__always)
  var hasNothingToPerform: Bool {
    state.pointee.incomingCount.load(ordering: .acquiring) == 0 && state.pointee.deferred.isEmpty && !hasRequests
  }

  /// PASS-12 of a pass that has handled a source, and so does not sleep: whether the kernel, who is asked, knows of no ready
  /// descriptor.
  @inline(__always)
  private func findsNothingReady(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if !frame.pointee.handled { return false }
    frame.pointee.asked = true
    return !frame.pointee.mode.pollDescriptors()
  }

  /// PASS-1 to PASS-4 with observers. False if there is more to do for them, or now more than own signals.
  @inline(never)
  private func startToldPass(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    // Otherwise the observers of the sleep would have been told.
    if !frame.pointee.handled { return false }
    unprotect()
    letOthersQueueMore(frame.pointee.mode)
    openWakeGate()
    frame.pointee.handled = false
    frame.pointee.asked = false
    guard tellQuietly(frame, Activity.beforeTimers, at: .beforeTimers),
      tellQuietly(frame, Activity.beforeSources, at: .beforeSources)
    else { return false }
    frame.pointee.step = .firstBlocks
    let mode = frame.pointee.mode.state
    guard hasNothingToPerform, mode.pointee.signalledCount.load(ordering: .acquiring) == 0,
      !mode.pointee.ownSignals.isEmpty
    else { return false }
    frame.pointee.step = .sources
    return true
  }

  @inline(never)
  private func startQuietPassWithOthers(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
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
    frame.pointee.asked = false
    // PASS-1. Under the gate, which whoever gives a reason for a wake-up takes before or after this.
    state.pointee.wakePending.store(0, ordering: .relaxed)
    state.pointee.isSelfWoken = false
    state.pointee.hasReading = false
    var isMixed = takeSignalled(frame)
    state.pointee.gate.unlock()
    if !frame.pointee.mode.state.pointee.ownSignals.isEmpty && takeOwnSignals(frame) { isMixed = true }
    if isMixed && frame.pointee.collected.count > 1 { putInOrder(frame) }
    return true
  }
}
