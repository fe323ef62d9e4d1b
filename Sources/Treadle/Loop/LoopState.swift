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
  /// The hidden mode that records the common items. Constant.
  var commonRecord: UInt32
  /// The slots of the loop's modes. Lock.
  var modes: Buffer<UInt32>
  /// An eventfd, once a mode watches descriptors; -1 before. Written under the lock by whoever adds the
  /// first descriptor.
  let wakeDescriptor: Atomic<Int32>
  /// What interrupts runs that asked for it; -1 for none.
  let interruptDescriptor: Atomic<Int32>

  // One cache line: all that a caller from another thread writes to post, to signal or to wake.

  /// Guards `incoming`, the incoming requests and the queues of signals of all modes.
  let gate: Gate
  /// 1: there are blocks in `incoming`; for a look without the gate.
  let incomingCount: Atomic<UInt32>
  /// `Sleep.Kind` of the sleep that the thread is in; whoever sets it to awake ends the sleep. A futex.
  /// Atomic, and safe in a signal handler, as is `wakePending`.
  let sleeping: Atomic<UInt32>
  /// 1: a wake-up was given since the pass began (WAKE-3).
  let wakePending: Atomic<UInt32>
  /// The last `SignalTime` that was given under the gate. Written under the gate.
  let clock: Atomic<UInt64>
  /// Blocks that nobody has looked at yet. Gate.
  var incoming: Buffer<BlockEntry>
  /// Requests that the owner has not looked at yet: written under the gate.
  let firstIncoming: Atomic<UnsafeMutablePointer<RequestNode>?>
  /// 1 + the processor that the last call from another thread came from; 0 once the owner has seen that.
  /// Atomic.
  let caller: Atomic<UInt32>
  /// Something was queued by another thread since the owner last took anything. Gate.
  var isCalledFromOutside: Bool

  // Another one: what callers from other threads need besides, and the owner hardly looks at.

  /// The last of the incoming requests, if there is a first. How many there ever were. Gate.
  var lastIncoming: UnsafeMutablePointer<RequestNode>?
  var requestCount: UInt64
  /// How many callers are between ending a sleep and their last touch of `wakeDescriptor`. Atomic.
  let kicking: Atomic<UInt32>
  /// The slot of the thread's object, once it has one. Atomic.
  let thread: Atomic<UInt32>
  /// The slot of the call mode, once there is one. Written under the lock.
  let callMode: Atomic<UInt32>
  /// 1 + the processor that the owner last answered from, and how long it is waited for there, in nanoseconds; 0: as
  /// long as possible, negative: not at all (`Loop.spin`).
  let answerer: Atomic<UInt32>
  let answerBudget: Atomic<Int32>
  private let restOfLine: (UInt32, UInt64, UInt64, UInt64)

  // What the owner writes, or looks at in every pass, and others now and then.

  /// Counts what a sleeping thread may have to take into account: timers and descriptors that came or
  /// moved. Atomic.
  let changes: Atomic<UInt32>
  /// 1: the innermost run is to stop (STOP-2). Atomic, and safe in a signal handler, as is `stickyStop`.
  let stopPending: Atomic<UInt32>
  /// `StickyStop` bits (STOP-9).
  let stickyStop: Atomic<UInt32>
  /// How many runs are in progress.
  let depth: Atomic<UInt32>
  /// 1 while the thread blocks or polls (WAKE-6).
  let waiting: Atomic<UInt32>
  /// The slot of the mode that the innermost run runs; 0 outside of runs.
  let currentMode: Atomic<UInt32>
  /// The source or observer that the owner is calling or about to call, as `Loop.tag`; 0 for none. Written by the
  /// owner, atomic (`Loop.protect`).
  let calling: Atomic<UInt32>
  /// One whose mode's reference the owner is to drop after its call; 0 for none. Written under the gate.
  let left: Atomic<UInt32>
  /// `lastReading` was taken since the innermost run's pass began, or its sleep ended. Owner.
  var hasReading: Bool
  /// What was last taken was little, and from another thread (`letOthersQueueMore`). Owner.
  var isChasing: Bool
  /// A source that was performed since had been signalled more than once. Owner.
  var isOverrun: Bool
  /// Requests that wait for their pass: written under the lock. How often some were taken out. Lock.
  let firstRequest: Atomic<UnsafeMutablePointer<RequestNode>?>
  var lastRequest: UnsafeMutablePointer<RequestNode>?
  var requestRemovals: UInt64
  /// Counts what makes passes more than quiet: an observer, an earlier timer or the first descriptor of a mode has come, or
  /// a request waits. Written under the lock, behind what it counts (`Loop.startQuietPass`).
  let revision: Atomic<UInt64>

  /// An empty queue that changes places with `incoming`. Owner.
  var spare: Buffer<BlockEntry>
  /// Blocks that no run since has been eligible for, oldest first. Owner.
  var deferred: Buffer<BlockEntry>
  /// The innermost run, and frames to use again, linked by `outer`. Owner; other threads read neither.
  var frame: UnsafeMutablePointer<Frame>?
  var spareFrames: UnsafeMutablePointer<Frame>?
  /// Requests that timers will perform, in the order in which they were made. Owner.
  var firstDelayed: UnsafeMutablePointer<DelayedRequest>?
  var lastDelayed: UnsafeMutablePointer<DelayedRequest>?
  /// How long the next wait for a caller on another processor may spin, in nanoseconds. Owner.
  var spinBudget: Int64
  /// How long the last such wait was, in nanoseconds. Owner.
  var chasePause: Int64
  /// What the clock said when it was last read for the client's sake, and the kernel's tick when that was outside of
  /// runs (`Loop+Time`). Owner.
  var lastReading: Int64
  var readingTick: Int64
  /// The default mode. Constant.
  var defaultMode: UnsafeMutablePointer<ModeState>?
  /// Where the timers' slots of quick calls come from and go to (`Timer+Quick`). Lock.
  var timerStock: SlotStock
  /// The owned source that is performed (`Loop.hand`).
  var hand: treadle_system_hand
}
