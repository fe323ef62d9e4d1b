// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import Synchronization

/// What a loop has done. Its thread alone writes, by a load and a store where an exchange would cost as much as the
/// rest of an idle pass; others read each number as it was a moment ago. All-zero bytes are zeros.
package struct LoopCounters: ~Copyable {
  package let passes: Atomic<UInt64>
  /// In the kernel.
  package let sleeps: Atomic<UInt64>
  /// Sleeps that a wake-up ended, or kept from beginning.
  package let wakes: Atomic<UInt64>
  /// Blocks, sources, timers, descriptor sources and jobs that were called.
  package let posts: Atomic<UInt64>
  package let signals: Atomic<UInt64>
  package let timers: Atomic<UInt64>
  package let descriptors: Atomic<UInt64>
  package let requests: Atomic<UInt64>
  /// Of ports.
  package let messages: Atomic<UInt64>
  /// Blocks and jobs that were destroyed without a call, at the end of the thread.
  package let discarded: Atomic<UInt64>
  /// Why the last run that finished did: in the numbers of the C ABI.
  package let lastFinish: Atomic<UInt32>

  package enum Finish {
    package static let unknownMode: UInt32 = 1
    package static let emptyAtOnce: UInt32 = 2
    package static let becameEmpty: UInt32 = 3
  }

  package borrowing func finish(_ reason: UInt32) { lastFinish.store(reason, ordering: .relaxed) }

  package borrowing func reset() {
    passes.store(0, ordering: .relaxed)
    sleeps.store(0, ordering: .relaxed)
    wakes.store(0, ordering: .relaxed)
    posts.store(0, ordering: .relaxed)
    signals.store(0, ordering: .relaxed)
    timers.store(0, ordering: .relaxed)
    descriptors.store(0, ordering: .relaxed)
    requests.store(0, ordering: .relaxed)
    messages.store(0, ordering: .relaxed)
    discarded.store(0, ordering: .relaxed)
    finish(0)
  }
}

extension Atomic where Value == UInt64 {
  /// For a number that one thread counts.
  @inline(__always)
  package borrowing func count(_ more: Int = 1) {
    store(load(ordering: .relaxed) &+ UInt64(truncatingIfNeeded: more), ordering: .relaxed)
  }
}
