// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// One ready descriptor after the other, of those that the kernel has reported at once: each in a pass of its own
/// (SRC1-5), but as long as nothing else can have any effect in these passes nobody can tell them from nothing.
extension Loop {
  /// Calls the descriptor source that the frame's callout names, and those of the passes after this one, as long as these
  /// are quiet.
  func performDescriptors(_ frame: UnsafeMutablePointer<Frame>) {
    while let item = frame.pointee.callout.item {
      callWithValue(item, frame.pointee.callout.value, frame)
      // The rest is `advance`'s.
      if mustEnd(frame) { return }
      frame.pointee.callout.set(.none)
      // What is dropped may call the client, who may do anything.
      item.drop()
      if !startDescriptorPass(frame) || !nextReported(frame) { return }
    }
  }

  /// PASS-13 to PASS-8 of the next pass in one, for a run in which nothing but reported descriptors can have any effect
  /// there: no observer, block, source, request, timer, deadline or stop, no call whose end it awaits, and no release that
  /// was put off. False if there may be: `advance` goes on in the rest of the pass.
  @inline(__always)
  private func startDescriptorPass(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode.state
    guard hasOnlySources(frame), mode.pointee.interest.load(ordering: .acquiring) == 0, !state.pointee.isChasing,
      frame.pointee.mode.poller?.hasEvents == true
    else { return false }
    // PASS-1. What came before that is looked at now; what comes later counts as come in this pass.
    openWakeGate()
    return !hasWork(frame.pointee.mode) && hasNothingToPerform && !isStopAsked && !mustEnd(frame)
  }
}
