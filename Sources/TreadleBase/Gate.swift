// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// A spin lock for critical sections of a few instructions: no system call, no client code, no other lock taken inside.
/// All-zero bytes are an open gate.
///
/// A waiter whose holder has lost its processor gives its own away: it yields, and soon sleeps, so that a holder of
/// lower priority runs. Nobody has to wake it.
package struct Gate: ~Copyable {
  private let closed: Atomic<UInt32>

  package init() { closed = Atomic(0) }

  @inline(__always)
  package borrowing func lock() {
    assert(LockOrder.enter(.gate), "a gate is the last lock that a thread takes")
    if closed.exchange(1, ordering: .acquiring) != 0 { wait() }
  }

  @inline(__always)
  package borrowing func unlock() {
    assert(LockOrder.leave(.gate), "a gate is opened by the thread that closed it")
    closed.store(0, ordering: .releasing)
  }

  /// In the child of a fork, where nobody else is left.
  package borrowing func forget() { closed.store(0, ordering: .relaxed) }

  private static let spinsOfYield = 128
  private static let mostYields = 16
  /// Nanoseconds.
  private static let backOff: Int64 = 50_000

  @inline(never)
  private borrowing func wait() {
    var spins = 0
    var yields = 0
    while closed.load(ordering: .relaxed) != 0 || closed.exchange(1, ordering: .acquiring) != 0 {
      spins &+= 1
      treadle_system_pause()
      if spins % Gate.spinsOfYield != 0 { continue }
      yields &+= 1
      if yields < Gate.mostYields {
        treadle_system_yield()
      } else {
        treadle_system_sleep_until(Clock.now() &+ Gate.backOff)
      }
    }
  }
}
