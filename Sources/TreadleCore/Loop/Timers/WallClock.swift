// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Timers on the wall clock (TMR-24). They are queued by monotonic dates, as all others, which are worked out by one
/// offset for the whole loop: anew for all whenever the kernel says that the clock was set. The loop's lock is held,
/// where the text does not say otherwise.
extension Loop {
  func monotonic(of timer: Item) -> Int64 {
    Clock.monotonic(wall: timer.context?.pointee.wallDate ?? 0, offset: state.wallOffset)
  }

  /// Owner, takes the lock.
  @inline(never)
  func noteClock(_ poller: Poller) {
    poller.state.clockWasSet = false
    lock()
    defer { unlock() }
    moveWallDates()
  }

  @_optimize(size)
  fileprivate func moveWallDates() {
    assertHeld()
    state.wallOffset = Clock.wallOffset()
    for slot in state.modes.elements {
      guard let mode = Mode(slot: slot), let queue = mode.state.queue else { continue }
      queue.pointee.moveWallDates(self)
      mode.updateEarliest(queue)
    }
  }
}

extension Mode {
  /// Before a timer on the wall clock joins. Where the kernel refuses to tell, its date stays where it was when the
  /// clock was last looked at.
  @inline(never)
  func watchClock(_ loop: Loop) throws(Failure) {
    assertHeld()
    let poller = try needPoller(loop)
    if poller.state.clock >= 0 { return }
    let result = poller.watchClock()
    if result < 0 && !treadle_system_is_refused(result) { throw Failure.system("timerfd_settime", result) }
    loop.moveWallDates()
  }
}
