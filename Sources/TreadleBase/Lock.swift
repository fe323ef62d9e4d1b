// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadleSystem
import Synchronization

/// A lock of one word inside another struct's memory, on which waiters sleep. All-zero bytes are an unlocked one.
///
/// Guards configuration, where a section may make a system call; never held while client code runs.
package struct Lock {
  /// Of the word.
  private enum Value {
    static let free: UInt32 = 0
    static let taken: UInt32 = 1
    /// Taken, and somebody may sleep until it is free.
    static let wanted: UInt32 = 2
  }
  private struct Word: ~Copyable {
    let value: Atomic<UInt32>
  }

  private let word: UnsafeMutablePointer<Word>

  @inline(__always)
  package init(_ mutex: UnsafeMutablePointer<treadle_system_mutex>) {
    word = UnsafeMutableRawPointer(mutex).assumingMemoryBound(to: Word.self)
  }

  @inline(never)
  package func lock() {
    let (isTaken, _) = word.pointee.value.compareExchange(
      expected: Value.free, desired: Value.taken, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !isTaken { wait() }
  }

  @inline(never)
  package func unlock() {
    if word.pointee.value.exchange(Value.free, ordering: .releasing) == Value.wanted { wake() }
  }

  /// Whoever has slept takes it as wanted, for there may be others: at worst one wakes nobody.
  @inline(never)
  private func wait() {
    while word.pointee.value.exchange(Value.wanted, ordering: .acquiring) != Value.free {
      _ = treadle_system_futex_wait(word, Value.wanted, Int64.max)
    }
  }

  /// The memory may be gone by now: the kernel compares its address only.
  @inline(never)
  private func wake() { _ = treadle_system_futex_wake(word, 1) }
}
