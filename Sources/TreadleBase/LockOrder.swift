// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The order in which one thread takes locks, turns and claims: only a later rank than all that it holds. So the holder
/// that a waiter waits for itself waits for a later rank at most. Checked in builds with assertions, at each lock and
/// before each wait, whether or not another thread is in the way.
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
  /// The mutex of a loop's lock (`LoopLock`), under which a visitor waits for the owner.
  case visit
  /// The turn to lend priority to a loop's owner (`Inheritance`), with which a visitor waits for it.
  case loopTurn
  /// What a loop is configured with: the loop's lock, taken by its owner or by a visitor.
  case loop
  /// An item's own cell that is claimed and in no mode (`settledMode`).
  case claim
  /// The turn to lend priority to the holder of a gate.
  case gateTurn
  /// Any `Gate`.
  case gate
}

package enum LockOrder {
  /// Notes a lock; false if the thread holds one that must be taken after it, or another one of the same rank.
  package static func enter(_ rank: LockRank) -> Bool {
    let thread = treadle_system_thread()
    let isInOrder = admits(rank)
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

  /// Whether the thread may wait for what has this rank.
  package static func admits(_ rank: LockRank) -> Bool {
    treadle_system_thread().pointee.held_locks >> rank.rawValue == 0
  }

  /// Whether the thread holds none, as it must where client code is called (OBJ-7), and where it waits for what others
  /// do as long as they like.
  package static var isClear: Bool { treadle_system_thread().pointee.held_locks == 0 }
}
