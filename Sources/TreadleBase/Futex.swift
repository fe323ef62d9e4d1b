// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import Synchronization

/// Sleeping on a word of memory until another thread changes it.
package enum Futex {
  /// Where an atomic lies: the kernel knows words by their addresses.
  @inline(__always)
  package static func address(of word: borrowing Atomic<UInt32>) -> UnsafeMutableRawPointer {
    withUnsafePointer(to: word) { UnsafeMutableRawPointer(mutating: $0) }
  }

  /// Sleeps while the word is as expected, until it is woken, a time has passed, a signal came, or for no reason.
  @inline(__always)
  @discardableResult
  package static func wait(
    _ word: borrowing Atomic<UInt32>, while expected: UInt32, until: Int64 = Clock.forever
  ) -> Int32 {
    assert(LockOrder.isClear, "a waiter holds no lock")
    return treadle_system_futex_wait(address(of: word), expected, until)
  }

  /// The same, ending on time: without the thread's timer slack, where that is more than a thousandth of the sleep.
  @inline(__always)
  package static func sleep(_ word: borrowing Atomic<UInt32>, while expected: UInt32, until: Int64) -> Int32 {
    assert(LockOrder.isClear, "a sleeping thread holds no lock")
    return treadle_system_futex_sleep(address(of: word), expected, until)
  }

  /// The word's memory may be gone: the kernel only compares its address.
  @inline(__always)
  package static func wake(_ address: UnsafeMutableRawPointer, _ count: Int32) {
    _ = treadle_system_futex_wake(address, count)
  }
}
