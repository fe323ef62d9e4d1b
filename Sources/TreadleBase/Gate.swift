// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// A spin lock for critical sections of a few instructions: no system call, no client code, no other
/// lock taken inside. All-zero bytes are an open gate.
///
/// A waiter yields its processor now and then, in case the holder was preempted.
package struct Gate: ~Copyable {
  private let closed: Atomic<UInt32>

  package init() { closed = Atomic(0) }

  @inline(__always)
  package borrowing func lock() {
    if closed.exchange(1, ordering: .acquiring) == 0 { return }
    wait()
  }

  @inline(__always)
  package borrowing func unlock() { closed.store(0, ordering: .releasing) }

  @inline(never)
  private borrowing func wait() {
    var spins = 0
    while closed.load(ordering: .relaxed) != 0 || closed.exchange(1, ordering: .acquiring) != 0 {
      spins &+= 1
      if spins % 128 == 0 { treadle_system_yield() }
      treadle_system_pause()
    }
  }
}
