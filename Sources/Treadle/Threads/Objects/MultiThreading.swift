// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Whether a thread was ever started here, and telling of the first (THR-11).
package enum MultiThreading {
  private enum State {
    static let single: UInt32 = 0
    static let announcing: UInt32 = 1
    static let multiple: UInt32 = 2
  }

  package static var isOn: Bool { treadle_system_threaded() != State.single }

  /// Whether the calling thread is inside the notification.
  static var isAnnouncing: Bool { treadle_system_thread().pointee.announcing != 0 }

  /// Before the first start: posts the notification. Others who start a thread meanwhile wait for its end,
  /// but not those who do so in its handlers.
  static func begin() {
    if treadle_system_threaded() == State.multiple { return }
    let thread = treadle_system_thread()
    if treadle_system_advance_threaded(State.single, State.announcing) {
      thread.pointee.announcing = 1
      Notifications.post(Notifications.willBecomeMultiThreaded, object: 0)
      thread.pointee.announcing = 0
      _ = treadle_system_advance_threaded(State.announcing, State.multiple)
      Rest.announce()
      return
    }
    if isAnnouncing { return }
    while true {
      let seen = Rest.epoch
      if treadle_system_threaded() != State.announcing { return }
      Rest.wait(seen, until: Clock.forever)
    }
  }

  /// In the child of a fork: whoever was posting the notification is not there to end it.
  static func endAnnouncement() { _ = treadle_system_advance_threaded(State.announcing, State.multiple) }
}
