// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// Threads that wait for a gate, or for the owner of a loop's lock to leave it, lend their priority to its holder, so
/// that none waits longer than the holder's few instructions take, whatever else wants the processor.
///
/// The kernel lends the priority of who sleeps on a word to the thread whose id the word holds, until that thread gives
/// the word up. These locks are opened by a plain store, so they are not such words. There is one word of each kind
/// for the whole process, and a mutex around it, the turn: the waiter whose turn it is names the lock's holder in the
/// word, then looks at the lock again behind a barrier on all processors. A thread that opens a lock looks for its id
/// in the word behind the opening. So either the waiter sees the lock open, or the holder sees its id and gives the
/// word up.
///
/// The thread with a turn waits for the holder of a lock of that kind, and the holder takes no turn of the same kind or
/// of an earlier one. So the thread with the turn of the gates waits for a thread that waits for nothing. The thread
/// with the turn of the loops' locks waits for one that waits for a claim or a gate at most. A turn's `LockRank` is
/// before that of the lock which its thread waits for.
enum Inheritance {
  /// The locks that lend by one word, in the order in which a thread takes them.
  enum Kind {
    static let loop: UInt32 = 0
    static let gate: UInt32 = 1

    /// Of the turn, and of what is waited for with it.
    static func ranks(_ kind: UInt32) -> (turn: LockRank, lock: LockRank) {
      kind == loop ? (.loopTurn, .loop) : (.gateTurn, .gate)
    }
  }

  /// Takes a lock for the calling thread, which has noted it; `id` 0: waits until it is open.
  static func wait(_ kind: UInt32, for lock: borrowing Atomic<UInt32>, as id: UInt32) {
    let turn = Mutex.at(treadle_system_turn(kind))
    assert(LockOrder.leave(Kind.ranks(kind).lock), "the lock is noted before the wait")
    turn.pointee.lock(Kind.ranks(kind).turn)
    assert(LockOrder.enter(Kind.ranks(kind).lock), "the thread with a turn waits for a later lock")
    var patience = Patience(inOrder: true)
    while !lock.spin(id) {
      if !lend(kind, to: lock.load(ordering: .relaxed), lock) { patience.wait() }
    }
    turn.pointee.unlock(Kind.ranks(kind).turn)
  }

  /// Sleeps until the holder has opened the lock; false if the kernel has no barriers, or no such words.
  private static func lend(_ kind: UInt32, to holder: UInt32, _ lock: borrowing Atomic<UInt32>) -> Bool {
    if holder == 0 { return true }
    treadle_system_set_named(kind, holder)
    defer { treadle_system_set_named(kind, 0) }
    if treadle_system_barrier() < 0 { return false }
    return lock.load(ordering: .relaxed) != holder || treadle_system_futex_lock(treadle_system_named_word(kind)) == 0
  }

  /// Somebody is named as the holder of a lock: the calling thread perhaps, which has just opened one.
  @inline(never)
  static func giveBack(_ kind: UInt32) {
    let ids: UInt32 = 0x3FFF_FFFF
    if treadle_system_named(kind) & ids == treadle_system_thread().pointee.id {
      treadle_system_futex_unlock(treadle_system_named_word(kind))
    }
  }

  /// The kernel's id of the calling thread.
  static var ownID: UInt32 {
    let thread = treadle_system_thread()
    if thread.pointee.id == 0 { thread.pointee.id = UInt32(bitPattern: treadle_system_thread_id()) }
    return thread.pointee.id
  }
}

/// For waits on a few instructions of another thread, where there is no lock: at first the processor is given away to
/// threads of the same priority, then to all.
package struct Patience {
  private var yields = 0
  /// Nanoseconds.
  private static let sleep: Int64 = 50_000

  /// `inOrder`: the caller may hold locks that come before what it waits for.
  package init(inOrder: Bool = false) { assert(inOrder || LockOrder.isClear, "a waiter holds no lock") }

  package mutating func wait() {
    yields &+= 1
    if yields < 16 { treadle_system_yield() } else { treadle_system_sleep_until(Clock.now() &+ Patience.sleep) }
  }
}
