// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadleSystem
import Synchronization

/// A lock of one word, on which waiters sleep and lend their priority to who has it: for what is configured, where a
/// section may make a system call. Never held while client code runs. All-zero bytes are an unlocked one.
package struct Mutex: ~Copyable {
  /// The kernel's id of the thread that has it; 0: free.
  private let holder: Atomic<UInt32>
  /// The kernel's bit beside the id: somebody sleeps.
  private static let wanted: UInt32 = 0x8000_0000

  package init() { holder = Atomic(0) }

  @inline(__always)
  package borrowing func lock(_ rank: LockRank) {
    assert(LockOrder.enter(rank), "locks are taken in the order of their ranks")
    let id = treadle_system_thread().pointee.id
    if id == 0 || !holder.take(id) { wait() }
  }

  @inline(__always)
  package borrowing func unlock(_ rank: LockRank) {
    assert(LockOrder.leave(rank), "a lock is given back by the thread that took it")
    let (isFree, _) = holder.compareExchange(
      expected: treadle_system_thread().pointee.id, desired: 0, successOrdering: .releasing, failureOrdering: .relaxed)
    if !isFree { handOver() }
  }

  /// Whether the thread with this id has it.
  borrowing func isHeld(by id: UInt32) -> Bool { holder.load(ordering: .relaxed) & ~Mutex.wanted == id }

  @inline(never)
  private borrowing func wait() {
    let id = Inheritance.ownID
    var patience = Patience(inOrder: true)
    while !holder.spin(id) {
      if treadle_system_futex_lock(Futex.address(of: holder)) == 0 {
        // The kernel has made it ours: what the last holder did is seen from here on.
        _ = holder.load(ordering: .acquiring)
        return
      }
      // The kernel refuses, or the holder has ended.
      patience.wait()
    }
  }

  /// The kernel gives it to the one who sleeps with the highest priority. It is his before he runs, so the memory is
  /// there as long as the kernel looks at it.
  @inline(never)
  private borrowing func handOver() {
    holder.bitwiseOr(Mutex.wanted, ordering: .releasing)
    treadle_system_futex_unlock(Futex.address(of: holder))
  }

  /// In the child of a fork, where nobody else is left.
  package borrowing func forget() { holder.store(0, ordering: .relaxed) }

  /// A lock in static memory of C's.
  @inline(__always)
  package static func at(_ memory: UnsafeMutablePointer<treadle_system_mutex>) -> UnsafeMutablePointer<Mutex> {
    UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Mutex.self)
  }
}
