// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
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
    frame.pointee.quietRevision = Frame.unknown
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
      hasCalled = performOwnedSources(frame) || frame.pointee.quietRevision != Frame.unknown && performLoneSources(frame)
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
  /// see `mustLookAround`.
  @inline(__always)
  private func performOwnedSources(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if frame.pointee.ownedIndex >= frame.pointee.owned.count { return false }
    frame.pointee.callout.set(.sourceInHand)
    openHand(asOf: frame.pointee.ownedAsOf, in: frame.pointee.mode)
    var hasCalled = false
    // They stay where they are, but a callback may have those collected that are left.
    while frame.pointee.ownedIndex < frame.pointee.owned.count {
      let signal = frame.pointee.owned.elements.baseAddress.unsafelyUnwrapped[frame.pointee.ownedIndex]
      if !useOwnedSignal(signal, asOf: frame.pointee.ownedAsOf) {
        if mustLookAround(frame) || !findOwnedSignal(signal, in: frame.pointee.mode) { break }
      }
      frame.pointee.ownedIndex &+= 1
      hasCalled = true
      callInHand(signal, frame)
    }
    if hasCalled { frame.pointee.handled = true }
    collectRest(frame)
    if mustLookAround(frame) { return true }
    frame.pointee.callout.set(.none)
    return false
  }

  /// Whether something came up in a callback: the run is to end, or another run was inside of it.
  @inline(__always)
  private func mustLookAround(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    mustEnd(frame) || frame.pointee.callout.isHeld
  }

  /// Performs the only signalled source of each of the next passes, as long as nothing but such sources comes up in them, and
  /// they are owned. It is not even collected: its place in the queue is free as soon as its signal is used up. True if
  /// something came up in the last callback, as in `performOwnedSources`, where the rest of this pass was performed.
  @inline(__always)
  private func performLoneSources(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode
    if frame.pointee.collectedIndex < frame.pointee.collected.count { return false }
    openHand(asOf: mode.state.pointee.ownedAsOf, in: mode)
    while let signal = startLonePass(frame) {
      let reading = mode.state.pointee.ownSignalsAreMixed ? Loop.never : mode.state.pointee.ownedAsOf
      if !useOwnedSignal(signal, asOf: reading) && !findOwnedSignal(signal, in: mode) { break }
      mode.state.pointee.ownSignals.removeAll()
      mode.state.pointee.ownSignalsAreMixed = false
      mode.state.pointee.ownedAsOf = hand.pointee.as_of
      frame.pointee.handled = true
      frame.pointee.callout.set(.sourceInHand)
      callInHand(signal, frame)
      if mustLookAround(frame) { return true }
    }
    frame.pointee.callout.set(.none)
    return false
  }

  /// PASS-6 to PASS-5 of the next pass, if that is quiet without a look at all that could have any effect: nothing of that
  /// has changed since it was looked at. The only signal that there is, if it is the owner's; nil otherwise.
  @inline(__always)
  private func startLonePass(_ frame: UnsafeMutablePointer<Frame>) -> QueuedSignal? {
    let mode = frame.pointee.mode.state
    guard let signal = mode.pointee.ownSignals.only,
      state.pointee.revision.load(ordering: .acquiring) == frame.pointee.quietRevision,
      mode.pointee.signalledCount.load(ordering: .acquiring) == 0,
      state.pointee.incomingCount.load(ordering: .acquiring) == 0, !hasIncomingRequests,
      Pool.isUnused(since: frame.pointee.poolMark), !isStopAsked
    else { return nil }
    openWakeGate()
    return signal
  }

  /// PASS-6 to PASS-5 of the next pass in one, for a run in which nothing but signalled sources and plain observers can have
  /// any effect there: no block, request, timer, ready descriptor, deadline or stop, no call whose end it awaits, and no
  /// release that was put off. False if there may be: `advance` goes on at the step that the frame names then, or behind the
  /// sources. The pass before has no requests left to perform.
  @inline(__always)
  private func startQuietPass(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode.state
    let hasOthers = mode.pointee.signalledCount.load(ordering: .acquiring) != 0
    guard hasOthers || !mode.pointee.ownSignals.isEmpty else { return false }
    // Before all that it counts.
    let revision = state.pointee.revision.load(ordering: .acquiring)
    let hasDescriptors = mode.pointee.poller.load(ordering: .acquiring) != nil
    if hasDescriptors && !(frame.pointee.mayBeQuiet && findsNothingReady(frame)) { return false }
    if !hasOnlySources(frame) || hasIncomingRequests { return false }
    let isTold = mode.pointee.interest.load(ordering: .acquiring) != 0
    frame.pointee.quietRevision = hasDescriptors || isTold ? Frame.unknown : revision
    if isTold {
      if !startToldPass(frame) { return false }
    } else if hasOthers {
      return startQuietPassWithOthers(frame)
    } else {
      // A request that was queued before the owner signalled a source was seen just now.
      openWakeGate()
    }
    frame.pointee.clearCollected()
    frame.pointee.beginPass()
    if !takeOwned(frame) && takeOwnSignals(frame) { putInOrder(frame) }
    return true
  }

  /// Something has come that passes which have been quiet so far have to look after. The lock is held.
  @inline(__always)
  func noteRevision() {
    state.pointee.revision.store(state.pointee.revision.load(ordering: .relaxed) &+ 1, ordering: .releasing)
  }

  /// Whether nothing but sources, observers, descriptors and requests that come in can have any effect in the next pass: no
  /// block, request that waits, timer, deadline or stop, no call whose end is awaited, no release that was put off.
  @inline(__always)
  func hasOnlySources(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    hasOnlyOwnSources(frame) && hasOnlySourcesOfOthers(frame)
  }

  /// What of that nobody but the owner changes.
  @inline(__always)
  func hasOnlyOwnSources(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    frame.pointee.mayBeQuiet && state.pointee.deferred.isEmpty && Pool.isUnused(since: frame.pointee.poolMark)
  }

  /// What of that others may change at any time.
  @inline(__always)
  func hasOnlySourcesOfOthers(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode.state
    return mode.pointee.content.load(ordering: .acquiring) != 0
      && mode.pointee.earliest.load(ordering: .acquiring) == Clock.forever
      && state.pointee.incomingCount.load(ordering: .acquiring) == 0
      && state.pointee.firstRequest.load(ordering: .acquiring) == nil && !isStopAsked
  }

  /// Neither blocks nor requests.
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
    frame.pointee.beginPass()
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
    frame.pointee.clearCollected()
    frame.pointee.beginPass()
    // PASS-1. Under the gate, which whoever gives a reason for a wake-up takes before or after this.
    state.pointee.wakePending.store(0, ordering: .relaxed)
    hand.pointee.is_woken = false
    state.pointee.hasReading = false
    var isMixed = takeSignalled(frame)
    state.pointee.gate.unlock()
    if !frame.pointee.mode.state.pointee.ownSignals.isEmpty && takeOwnSignals(frame) { isMixed = true }
    if isMixed { putInOrder(frame) }
    return true
  }
}
