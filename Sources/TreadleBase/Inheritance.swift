// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// Threads that wait for a gate lend their priority to its holder, so that none waits longer than the holder's few
/// instructions take, whatever else wants the processor.
///
/// The kernel lends the priority of who sleeps on a word to the thread whose id the word holds, until that thread gives
/// the word up. Gates are opened by a plain store, so they are not such words. There is one for the whole process, and
/// a mutex around it: the waiter whose turn it is names the gate's holder in it, then looks at the gate again behind a
/// barrier on all processors; whoever opens a gate looks for his name behind the opening. So either the waiter sees the
/// gate open, or the holder sees his name and gives the word up.
enum Inheritance {
  /// Takes the gate for the calling thread.
  static func wait(for gate: borrowing Atomic<UInt32>, as id: UInt32) {
    let turn = Mutex.at(treadle_system_turn())
    turn.pointee.take()
    var patience = Patience()
    while !gate.spin(id) {
      if !lend(to: gate.load(ordering: .relaxed), gate) { patience.wait() }
    }
    turn.pointee.giveBack()
  }

  /// Sleeps until the holder has opened the gate; false if the kernel has no barriers, or no such words.
  private static func lend(to holder: UInt32, _ gate: borrowing Atomic<UInt32>) -> Bool {
    if holder == 0 { return true }
    treadle_system_set_named(holder)
    defer { treadle_system_set_named(0) }
    if treadle_system_barrier() < 0 { return false }
    return gate.load(ordering: .relaxed) != holder || treadle_system_futex_lock(treadle_system_named_word()) == 0
  }

  /// Somebody is named as the holder of a gate: the calling thread perhaps, which has just opened one.
  @inline(never)
  static func giveBack() {
    let ids: UInt32 = 0x3FFF_FFFF
    if treadle_system_named() & ids == treadle_system_thread().pointee.id {
      treadle_system_futex_unlock(treadle_system_named_word())
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

  package init() {}

  package mutating func wait() {
    yields &+= 1
    if yields < 16 { treadle_system_yield() } else { treadle_system_sleep_until(Clock.now() &+ Patience.sleep) }
  }
}
