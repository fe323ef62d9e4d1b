// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The order in which one thread takes locks: only a later rank than all that it holds. Checked where assertions are.
package enum LockRank: UInt32 {
  /// The registrations of the whole process: the start, the initial thread, notifications, the last resort.
  case process
  /// What a thread's object is configured with.
  case thread
  /// What is in a scope.
  case scope
  /// What an invocation says of itself.
  case invocation
  /// The connections of a message port.
  case messagePort
  /// What is to be closed of other users' (`MessageClosing`).
  case closing
  /// The memberships of items (`ItemLocks`).
  case item
  /// What a loop is configured with.
  case loop
  /// Any `Gate`.
  case gate
}

package enum LockOrder {
  /// Notes a lock; false if the thread holds one that must be taken after it, or another one of the same rank.
  package static func enter(_ rank: LockRank) -> Bool {
    let thread = treadle_system_thread()
    let isInOrder = thread.pointee.held_locks >> rank.rawValue == 0
    thread.pointee.held_locks |= 1 << rank.rawValue
    return isInOrder
  }

  /// False if the thread does not hold one of this rank.
  package static func leave(_ rank: LockRank) -> Bool {
    let thread = treadle_system_thread()
    let isHeld = thread.pointee.held_locks & (1 << rank.rawValue) != 0
    thread.pointee.held_locks &= ~(1 << rank.rawValue)
    return isHeld
  }

  /// Whether the thread holds none, as it must where client code is called (OBJ-7).
  package static var isClear: Bool { treadle_system_thread().pointee.held_locks == 0 }
}
