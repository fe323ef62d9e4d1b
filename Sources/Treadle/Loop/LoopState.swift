// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The memory of a run loop. Each property says what guards it:
/// *gate*: the loop's spin lock, for a few instructions; *lock*: `Loop.mutex`, for configuration;
/// *owner*: touched by the loop's own thread alone. Order of taking: an item's lock, lock, gate.
struct LoopState: ~Copyable {
  let reference: Reference
  /// Padding: what a late caller may still touch of a slot that is free (see `Slab`).
  let touched: Atomic<UInt64>
  /// Constant for the life of the loop.
  var slot: UInt32
  /// The kernel's id of the thread; 0 once it is gone. Atomic.
  let threadID: Atomic<Int32>

  // What other threads write when they want something. Atomic, and safe in a signal handler.

  /// `Sleep.Kind` of the sleep that the thread is in; whoever sets it to awake ends the sleep. A futex.
  let sleeping: Atomic<UInt32>
  /// 1: a wake-up was given since the pass began (WAKE-3).
  let wakePending: Atomic<UInt32>
  /// 1: the innermost run is to stop (STOP-2).
  let stopPending: Atomic<UInt32>
  /// `StickyStop` bits (STOP-9).
  let stickyStop: Atomic<UInt32>
  /// How many callers are between ending a sleep and their last touch of `wakeDescriptor`.
  let kicking: Atomic<UInt32>
  /// Counts what a sleeping thread may have to take into account: timers and descriptors that came or
  /// moved.
  let changes: Atomic<UInt32>
  /// How many runs are in progress.
  let depth: Atomic<UInt32>
  /// 1 while the thread blocks or polls (WAKE-6).
  let waiting: Atomic<UInt32>
  /// The slot of the mode that the innermost run runs; 0 outside of runs.
  let currentMode: Atomic<UInt32>
  /// How many blocks are in `incoming`; for a look without the gate.
  let incomingCount: Atomic<Int>

  /// Guards `incoming` and the queues of signals of all modes.
  let gate: Gate
  /// Counts signals, for `SignalTime`. Gate.
  var signals: UInt32
  /// Blocks that nobody has looked at yet. Gate.
  var incoming: Buffer<BlockEntry>

  /// Requests that the owner has not looked at yet: written under the gate. How many there ever were. Gate.
  let firstIncoming: Atomic<UnsafeMutablePointer<RequestNode>?>
  var lastIncoming: UnsafeMutablePointer<RequestNode>?
  var requestCount: UInt64

  /// Requests that wait for their pass: written under the lock. How often some were taken out. Lock.
  let firstRequest: Atomic<UnsafeMutablePointer<RequestNode>?>
  var lastRequest: UnsafeMutablePointer<RequestNode>?
  var requestRemovals: UInt64
  /// The slot of the thread's object, once it has one. Atomic.
  let thread: Atomic<UInt32>
  /// The slot of the call mode, once there is one. Written under the lock.
  let callMode: Atomic<UInt32>
  /// The slots of the loop's modes. Lock.
  var modes: Buffer<UInt32>
  /// The default mode, and the hidden one that records the common items. Constant.
  var defaultMode: UInt32
  var commonRecord: UInt32

  /// An empty queue that changes places with `incoming`. Owner.
  var spare: Buffer<BlockEntry>
  /// Blocks that no run since has been eligible for, oldest first. Owner.
  var deferred: Buffer<BlockEntry>
  /// The innermost run, and a frame to use again. Owner; other threads read neither.
  var frame: UnsafeMutablePointer<Frame>?
  var spareFrame: UnsafeMutablePointer<Frame>?
  /// Requests that timers will perform, in the order in which they were made. Owner.
  var firstDelayed: UnsafeMutablePointer<DelayedRequest>?
  var lastDelayed: UnsafeMutablePointer<DelayedRequest>?
  /// An eventfd, once a mode watches descriptors; -1 before. Written under the lock by whoever adds the
  /// first descriptor.
  let wakeDescriptor: Atomic<Int32>
  /// What interrupts runs that asked for it; -1 for none.
  let interruptDescriptor: Atomic<Int32>
}
