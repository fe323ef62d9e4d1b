// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Firing a timer by hand (NST-3). The caller holds the timer.
extension Item {
  /// Calls the callback here and now, whatever the date.
  @_optimize(size)
  package func fireByHand() -> Int32 {
    // As when it is due: no mode has it queued while it runs.
    if !withDueLocked({ _ in beginFiring(isCollected: false) }) { return Status.ignored }
    retainForCall()
    let isOpen = ClientCall.during { callByHand() }
    releaseAfterCall()
    if !repeats { invalidate() }
    let loop = withDueLocked { loop -> Loop? in
      endFiring(takesNextDate: false)
      return loop
    }
    if let loop, !loop.isCurrent { loop.interruptSleep() }
    return isOpen ? Status.ok : Status.closed
  }

  private func callByHand() {
    if let invoke = context?.pointee.main.invoke {
      var event = Event(
        Event.Kind.timer, token: context?.pointee.token ?? 0, loop: Loop.existing?.handlePointer, subject: handle.bits, mode: nil)
      event.late = max(Clock.now() &- withDueLocked { _ in due.pointee.date }, 0)
      if !invoke(context?.pointee.main.object, &event) { Loop.existing?.failRun() }
    } else if let code {
      unsafeBitCast(code, to: Loop.PlainItem.self)(handlePointer, info)
    }
  }
}
