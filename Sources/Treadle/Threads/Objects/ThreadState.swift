// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import struct Synchronization.Atomic
import TreadleBase

/// The memory of a thread's object. Guards: *lock*: `mutex`; *wait gate*: the one of `WaitGraph`.
struct ThreadState: ~Copyable {
  let reference: Reference
  /// What a late caller may still touch of a slot that is free (see `Slab`).
  let touched: Atomic<UInt64>
  /// Constant.
  var slot: UInt32
  /// `Thread.Phase`. Written under the lock.
  let phase: Atomic<UInt32>
  /// `Thread.Flag` bits. Atomic.
  let flags: Atomic<UInt32>
  /// Guards what says *lock*.
  let mutex: Mutex
  /// Ends when the thread is ready, or has ended: `Thread.Readiness`.
  let readiness: Completion
  /// The kernel's id while the thread executes. Atomic.
  let kernelID: Atomic<Int32>
  /// Who waits without end for this one to be ready. Written before the start.
  var starter: WaitToken
  /// What this thread waits for, the innermost wait first. Wait gate.
  var waits: UnsafeMutablePointer<WaitEdge>?
  /// The pthread_t, once there is one. Atomic.
  let pthread: Atomic<UInt>
  /// The thread's loop, also before the thread asked for it itself. Written under the lock.
  let loop: Atomic<UnsafeMutablePointer<LoopState>?>

  /// `Thread.Joining`. Lock.
  var joining: UInt32
  // Attributes. Lock; constant from the start on, but for the name and the priority.
  var policy: UInt32
  var quality: Int32
  var isPriorityApplied: Bool
  var stackSize: Int
  var priority: Double
  var name: UnsafeMutablePointer<CChar>?
  /// Lock.
  var dictionary: UnsafeMutablePointer<ThreadValue>?

  /// What the thread runs: written before anybody knows the object, taken by whoever runs or drops it.
  var entry: ThreadEntry
  /// Written by the thread before its end, read after it.
  var result: UnsafeMutableRawPointer?
}
