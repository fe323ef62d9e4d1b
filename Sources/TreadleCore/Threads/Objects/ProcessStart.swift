// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The first use of the library in a process, before there is any object.
///
/// The ordinary Swift runtime makes the description of a generic type when code first meets it, under a lock of its
/// own. If another thread forks at that moment the child finds the lock taken for ever; so the core's types are met
/// here. (Embedded Swift has no such descriptions.)
@_cdecl("libtreadle_process_starts")
public func processStarts() {
  #if !hasFeature(Embedded)
    meet(Buffer<UInt32>.self)
    meet(Buffer<UInt64>.self)
    meet(Buffer<Int>.self)
    meet(Buffer<Entry>.self)
    meet(Buffer<Registration>.self)
    meet(Buffer<NotificationEntry>.self)
    meet(Buffer<PoolEntry>.self)
    meet(Buffer<TimerHeap.Entry>.self)
    meet(Buffer<StableSort.Keyed>.self)
    meet(Buffer<treadle_system_event>.self)
  #endif
}

#if !hasFeature(Embedded)
  /// Not to be left out: the type itself is what matters.
  @inline(never)
  @_optimize(none)
  private func meet(_ type: Any.Type) {}
#endif

/// Starting again in the child of a fork (RL-11).
package enum ProcessFork {
  /// False anywhere else.
  package static func startInChild() -> Bool {
    if !treadle_system_is_forked() { return false }
    // Before the runtime starts, since what it starts may use these.
    Pool.forget()
    NotificationList.forget()
    LastResort.forget()
    MultiThreading.endAnnouncement()
    return Runtime.startInChild()
  }
}

/// Whether a thread was ever started here, and telling of the first (THR-11). It is told once, though the start may
/// fail then.
package enum MultiThreading {
  private enum State {
    static let single: UInt32 = 0
    static let announcing: UInt32 = 1
    /// Announced; a first start is being tried.
    static let starting: UInt32 = 2
    /// Announced; all starts have failed.
    static let failed: UInt32 = 3
    static let multiple: UInt32 = 4
  }
  /// `treadle_system_thread.announcing` inside the notification: without, and with a thread that was started there.
  private static let isTelling: UInt8 = 1
  private static let hasStarted: UInt8 = 2

  package static var isOn: Bool {
    let state = treadle_system_threaded()
    return state != State.single && state != State.failed
  }

  /// Whether the calling thread is inside the notification.
  static var isAnnouncing: Bool { treadle_system_thread().pointee.announcing != 0 }

  /// Before a start, whose outcome `end` is told: the first posts the notification. Others who start a thread meanwhile
  /// wait for its end, but not those who do so in its handlers.
  static func begin() {
    if treadle_system_threaded() == State.multiple || treadle_system_advance_threaded(State.failed, State.starting) {
      return
    }
    let thread = treadle_system_thread()
    if treadle_system_advance_threaded(State.single, State.announcing) {
      thread.pointee.announcing = isTelling
      ObjectCall.recorded(0, UnsafeMutableRawPointer(thread), { _ in MultiThreading.endTelling(State.failed) }) {
        Notifications.post(Notifications.willBecomeMultiThreaded, object: 0)
      }
      endTelling(State.starting)
      return
    }
    if isAnnouncing { return }
    while true {
      let seen = Rest.epoch
      if treadle_system_threaded() != State.announcing { return }
      Rest.wait(seen, until: Clock.forever)
    }
  }

  /// All have been told, or one of them has ended the thread. `next`: unless a thread was started meanwhile.
  private static func endTelling(_ next: UInt32) {
    let thread = treadle_system_thread()
    let hasStarted = thread.pointee.announcing == MultiThreading.hasStarted
    thread.pointee.announcing = 0
    _ = treadle_system_advance_threaded(State.announcing, hasStarted ? State.multiple : next)
    Rest.announce()
  }

  static func end(isStarted: Bool) {
    if treadle_system_threaded() == State.multiple { return }
    if !isStarted {
      _ = treadle_system_advance_threaded(State.starting, State.failed)
    } else if isAnnouncing {
      treadle_system_thread().pointee.announcing = hasStarted
    } else if !treadle_system_advance_threaded(State.starting, State.multiple) {
      _ = treadle_system_advance_threaded(State.failed, State.multiple)
    }
  }

  /// In the child of a fork: whoever was posting the notification is not there to end it.
  static func endAnnouncement() { _ = treadle_system_advance_threaded(State.announcing, State.multiple) }
}
