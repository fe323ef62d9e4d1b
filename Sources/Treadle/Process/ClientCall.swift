// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Calling a client's function outside of any run: a schedule or cancel, a notification. Counted, so that a
/// shutdown can wait for the last; those of runs are counted by the runs themselves.
enum ClientCall {
  /// False, with `body` not called, after a shutdown.
  static func during(_ body: () -> Void) -> Bool {
    let thread = treadle_system_thread()
    _ = treadle_system_count_call(1)
    thread.pointee.calls &+= 1
    let isOpen = !treadle_system_is_closed_now()
    if isOpen { body() }
    thread.pointee.calls &-= 1
    _ = treadle_system_count_call(UInt32.max)
    if treadle_system_is_closed_now() { Rest.announce() }
    return isOpen
  }

  /// How many run now on other threads than this one.
  static var countElsewhere: UInt32 { treadle_system_count_call(0) &- treadle_system_thread().pointee.calls }
}
