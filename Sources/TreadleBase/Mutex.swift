// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadleSystem
import Synchronization

/// A lock of one word, on which waiters sleep: for what is configured, where a section may make a system call. Never held
/// while client code runs. All-zero bytes are an unlocked one.
package struct Mutex: ~Copyable {
  private static let free: UInt32 = 0
  private static let taken: UInt32 = 1
  /// Taken, and somebody may sleep until it is free.
  private static let wanted: UInt32 = 2

  private let word: Atomic<UInt32>

  package init() { word = Atomic(Mutex.free) }

  @inline(__always)
  package borrowing func lock(_ rank: LockRank) {
    assert(LockOrder.enter(rank), "locks are taken in the order of their ranks")
    let (isTaken, _) = word.compareExchange(
      expected: Mutex.free, desired: Mutex.taken, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !isTaken { wait() }
  }

  @inline(__always)
  package borrowing func unlock(_ rank: LockRank) {
    assert(LockOrder.leave(rank), "a lock is given back by the thread that took it")
    let address = Futex.address(of: word)
    if word.exchange(Mutex.free, ordering: .releasing) == Mutex.wanted { Mutex.wakeOne(address) }
  }

  /// Whoever has slept takes it as wanted, for there may be others: at worst one wakes nobody.
  @inline(never)
  private borrowing func wait() {
    while word.exchange(Mutex.wanted, ordering: .acquiring) != Mutex.free {
      Futex.wait(word, while: Mutex.wanted)
    }
  }

  /// The memory may be gone by now.
  @inline(never)
  private static func wakeOne(_ address: UnsafeMutableRawPointer) { Futex.wake(address, 1) }

  /// In the child of a fork, where nobody else is left.
  package borrowing func forget() { word.store(Mutex.free, ordering: .relaxed) }

  /// A lock in static memory of C's.
  @inline(__always)
  package static func at(_ memory: UnsafeMutablePointer<treadle_system_mutex>) -> UnsafeMutablePointer<Mutex> {
    UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Mutex.self)
  }
}
