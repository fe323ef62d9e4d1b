// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Passes one after the other, and the waits between them, as long as nothing but one kind of thing can have any effect
/// in them: nobody can tell them from whole ones.
extension Loop {
  /// Performs the request that the frame's callout names, and those that come after it in quiet passes.
  func performRequests(_ frame: UnsafeMutablePointer<Frame>) {
    while let node = frame.pointee.callout.request {
      if !RequestNode.perform(node, on: self, mode: frame.pointee.mode.name) { frame.pointee.fail() }
      // The rest is `advance`'s.
      if mustEnd(frame) || frame.pointee.requestLimit != 0 { return }
      settle(frame)
      guard waitInQuiet(frame), let next = takePlainRequest(frame) else { return }
      frame.pointee.callout.setRequest(next)
    }
  }

  /// Whether a run has nothing to look after but what others may bring: no observer, own signal, block, timer, descriptor,
  /// deadline or stop, no call whose end it awaits, no release that was put off, nobody who ends it.
  @inline(__always)
  private func isQuiet(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    !frame.pointee.failed && hasOnlyOwnSources(frame)
      && frame.pointee.collected[frame.pointee.collectedIndex] == nil
      && frame.pointee.mode.state.pointee.ownSignals.isEmpty && frame.pointee.requestLimit == 0
      && !state.pointee.isChasing && !hand.pointee.is_woken && isLeftInQuiet(frame)
  }

  /// What of that others may change while the owner waits.
  @inline(__always)
  private func isLeftInQuiet(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode.state
    return !treadle_system_is_closed() && mode.pointee.interest.load(ordering: .acquiring) == 0
      && mode.pointee.poller.load(ordering: .acquiring) == nil && hasOnlySourcesOfOthers(frame)
  }

  /// Waits for what comes soon: true if something has come, or was there, and the run is quiet still. False: `advance` looks
  /// at everything, in the rest of the pass that handled the last thing, behind which another begins.
  @inline(never)
  func waitInQuiet(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    unprotect()
    // A whole pass would find nothing to chase either.
    if state.pointee.isChasing && !state.pointee.isOverrun && !hasWork(frame.pointee.mode) { state.pointee.isChasing = false }
    if !isQuiet(frame) { return false }
    openWakeGate()
    // What came before that is looked at now; what comes later ends the wait.
    if !hasWork(frame.pointee.mode) {
      state.pointee.waiting.store(1, ordering: .releasing)
      let isWoken = spin(frame.pointee.mode, until: Clock.forever, awaited: nil)
      state.pointee.waiting.store(0, ordering: .releasing)
      if !isWoken { return false }
    }
    // Behind the look that found something: what the same thread did before, as to stop the run, is seen.
    return isLeftInQuiet(frame)
  }

  /// Takes the first request out of the queue, if that is a plain one and nothing stands before it. Begins a pass.
  @inline(__always)
  private func takePlainRequest(_ frame: UnsafeMutablePointer<Frame>) -> UnsafeMutablePointer<RequestNode>? {
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    // Whoever moves requests to the list of those that wait has the lock until they are there.
    guard let node = state.pointee.firstIncoming.load(ordering: .relaxed), node.pointee.isPlain,
      frame.pointee.mode.state.pointee.isCommon, !mutex.isTaken,
      state.pointee.firstRequest.load(ordering: .acquiring) == nil,
      frame.pointee.mode.state.pointee.signalledCount.load(ordering: .acquiring) == 0
    else { return nil }
    let next = node.pointee.next
    state.pointee.firstIncoming.store(next, ordering: .releasing)
    node.pointee.next = nil
    state.pointee.isCalledFromOutside = false
    // PASS-1, under the gate, which whoever gives a reason for a wake-up takes before or after this; but the next
    // request has given it already.
    if next == nil { state.pointee.wakePending.store(0, ordering: .relaxed) }
    state.pointee.hasReading = false
    frame.pointee.handled = true
    return node
  }
}
