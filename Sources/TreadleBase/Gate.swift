// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// A lock for critical sections of a few instructions: no system call, no client code, no other lock taken inside. It
/// costs one exchange, for it is opened by a plain store. All-zero bytes are an open gate.
package struct Gate: ~Copyable {
  /// The kernel's id of the thread that closed it; 0: open.
  private let holder: Atomic<UInt32>

  package init() { holder = Atomic(0) }

  @inline(__always)
  package borrowing func lock() {
    assert(LockOrder.enter(.gate), "a gate is the last lock that a thread takes")
    let id = treadle_system_thread().pointee.id
    if id == 0 || !holder.take(id) { wait() }
  }

  @inline(__always)
  package borrowing func unlock() {
    assert(LockOrder.leave(.gate), "a gate is opened by the thread that closed it")
    holder.store(0, ordering: .releasing)
    if treadle_system_named(Inheritance.Kind.gate) != 0 { Inheritance.giveBack(Inheritance.Kind.gate) }
  }

  /// In the child of a fork, where nobody else is left.
  package borrowing func forget() { holder.store(0, ordering: .relaxed) }

  /// The holder will be quick, unless he has lost his processor: then he may need ours, or our priority.
  @inline(never)
  private borrowing func wait() {
    let id = Inheritance.ownID
    for _ in 0..<TREADLE_SYSTEM_GATE_YIELDS {
      if holder.spin(id) { return }
      treadle_system_yield()
    }
    Inheritance.wait(Inheritance.Kind.gate, for: holder, as: id)
  }
}

/// A word with the kernel's id of the thread that has it, or 0.
extension Atomic where Value == UInt32 {
  @inline(__always)
  func take(_ id: UInt32) -> Bool {
    compareExchange(expected: 0, desired: id, successOrdering: .acquiring, failureOrdering: .relaxed).exchanged
  }

  /// Tries for a few microseconds.
  func spin(_ id: UInt32) -> Bool {
    for _ in 0..<TREADLE_SYSTEM_GATE_LOOKS {
      if load(ordering: .relaxed) == 0 && take(id) { return true }
      treadle_system_pause()
    }
    return false
  }
}
