// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import struct Synchronization.Atomic
import TreadleBase

/// The memory of a run loop. Each property says what guards it: *gate*: the loop's gate, for a few instructions;
/// *lock*: `loopLock`, for what is configured; *owner*: touched by the loop's own thread alone. Order of taking: an
/// item's lock, the lock, the gate (`LockRank`).
struct LoopState: ~Copyable {
  let reference: Reference
  /// What a late caller may still touch of a slot that is free (see `Slab`).
  let touched: Atomic<UInt64>
  /// The hidden mode that records the common items. Constant. Whoever is late does not look at it: a free slot names
  /// the next one here.
  var commonRecord: UInt32
  /// The same for every life in the slot.
  var slot: UInt32
  /// The kernel's id of the thread; 0 once it is gone, -1 while nobody has it yet. Atomic.
  let threadID: Atomic<Int32>
  /// An eventfd that ends sleeps, and a timerfd for their deadlines, once a mode watches descriptors; -1 before, and
  /// where the kernel refuses a timer. Written under the lock by whoever adds the first descriptor: so no number that a
  /// client has closed since can be one of them.
  let wakeDescriptor: Atomic<Int32>
  let timerDescriptor: Atomic<Int32>
  /// What interrupts runs that asked for it; -1 for none. Atomic.
  let interruptDescriptor: Atomic<Int32>
  /// The slot of the thread's object, once it has one. Atomic.
  let thread: Atomic<UInt32>
  /// The default mode. Constant.
  var defaultMode: UnsafeMutablePointer<ModeState>?
  /// The part of the queue of posts that comes next, once there is one (`PostQueue.swift`). Gate.
  var nextPosts: UnsafeMutablePointer<FullPosts>?

  // One cache line: all that a caller from another thread writes to post, to signal or to wake.

  /// Guards what says *gate*, and the queues of signals of all modes.
  let gate: Gate
  /// `Pending` bits: what is queued for the loop. Written under the gate.
  let pending: Atomic<UInt32>
  /// `Sleep` state of the thread; whoever sets it to awake ends the sleep. A futex. Atomic, and safe in a signal
  /// handler, as is `wakePending`.
  let sleeping: Atomic<UInt32>
  /// 1: a wake-up was given since the pass began (WAKE-3).
  let wakePending: Atomic<UInt32>
  /// The last `SignalTime` that was given under the gate. Written under the gate.
  let clock: Atomic<UInt64>
  /// Blocks that nobody has looked at yet, behind those of `fullPosts`. Gate.
  var incoming: Buffer<Entry>
  /// Jobs that the owner has not looked at yet, linked. Gate.
  var firstIncomingJob: UnsafeMutablePointer<Job>?
  /// Whether the loop waits a little before it sleeps, for callers on other processors.
  let callers: AdaptiveSpin

  // Another one: what callers from other threads need besides, and the owner hardly looks at.

  /// The last of the incoming jobs, if there is a first. How many there ever were. Gate.
  var lastIncomingJob: UnsafeMutablePointer<Job>?
  var jobCount: UInt64
  /// Something was queued by another thread since the owner last took anything. Gate.
  var isCalledFromOutside: Bool
  /// Only the first half of the room of `incoming` is open (`PostQueue.swift`). Gate.
  var hasHalf: Bool
  /// How many callers are between ending a sleep and their last touch of `wakeDescriptor`. Atomic.
  let kicking: Atomic<UInt32>
  /// Whether callers wait a little before they sleep, for the loop's answer.
  var answers: AdaptiveSpin
  /// The slot of the call mode, once there is one. Written under the lock.
  let callMode: Atomic<UInt32>
  /// At how many modes it is looked whether all of them are used. Lock.
  var modesToLookAt: UInt32
  /// Where the last group of `incoming` begins, or began in a queue before that. Gate.
  var lastGroup: Int
  /// How many entries were ever taken out of `incoming`: with it, each has a place of its own, for traces. Gate.
  var takenCount: UInt64
  /// The full parts of the queue before `incoming`, linked, the newest first (`PostQueue.swift`). Gate.
  var fullPosts: UnsafeMutablePointer<FullPosts>?

  // What the owner writes, or looks at in every pass, and others now and then.

  /// Guards what says *lock*.
  let loopLock: LoopLock
  /// Counts what a sleeping thread may have to take into account: timers and descriptors that came or moved. Atomic.
  let changes: Atomic<UInt32>
  /// `Stop` bits: which runs are to end, and how (STOP-2, STOP-9). Atomic, and safe in a signal handler.
  let stop: Atomic<UInt32>
  /// How many runs are in progress.
  let depth: Atomic<UInt32>
  /// 1 while the thread blocks or polls (WAKE-6).
  let waiting: Atomic<UInt32>
  /// The slot of the mode that the innermost run runs; 0 outside of runs.
  let currentMode: Atomic<UInt32>
  /// The item that the innermost run calls or is about to call, as `Item.tag`; 0 for none. The owner changes it. Lock
  /// (`Calling.swift`).
  var called: UInt32
  /// The reference of a mode out of which it was taken is the owner's to drop behind the call. Lock.
  var calledIsLeft: Bool
  /// `called` once more, for reports from other threads, which hold the item by its own word before they use it.
  /// Nothing else is decided by this. Written by the owner, atomic.
  let calling: Atomic<UInt32>
  /// The `CallName` of the post or request that the innermost run calls; 0 for none: an item is in `calling`. And how
  /// many posts the drain took that is going on. For descriptions, which read the label: a name with one is released.
  /// Written by the owner, atomic.
  let running: Atomic<UInt>
  let drained: Atomic<UInt32>
  /// When the innermost callback began, while callbacks are timed; else 0. Written by the owner, atomic.
  let calledSince: Atomic<Int64>
  /// A time at which the innermost run's callback that runs had not begun: the last that the owner knows of; 0: none.
  /// Written by the owner, atomic.
  let awakeSince: Atomic<Int64>
  /// `lastReading` was taken since the innermost run's pass began, or its sleep ended. Owner.
  var hasReading: Bool
  /// The owner has woken itself since the pass began, by a signal that it gave, or by a run inside of this one, which
  /// was woken for what it has left in the queues. Owner.
  var isWokenByOwner: Bool
  /// Something may wait in the queues that a wake-up was for, and that no run has called since. Owner.
  var hasLeft: Bool
  /// What was last taken was little, and from another thread (`Batching.swift`). Owner.
  var isChasing: Bool
  /// A source that was performed since had been signalled more than once. Owner.
  var isOverrun: Bool
  /// How many drains in a row were of short queues, as far as that matters (`PostQueue.swift`). Owner.
  var quietDrains: UInt8
  /// The slot of the first mode whose pollable descriptor others wait for, linked by `nextPollable`; 0 for none. Owner.
  var firstPollable: UInt32
  /// The tag of the process's life in which the loop was made. Constant.
  var life: UInt32
  /// That, or while the innermost run is left between two calls of its host, what no tag is. Owner.
  var goingOn: UInt32
  /// How many releases of delayed requests, each asked for in the one before, the end of the thread is calling. Owner.
  var dropDepth: UInt32
  /// What is looked at in memory before a sleep (`Lookouts.swift`), once there was anything, how much, and how many
  /// times in a row something was found. Owner.
  var lookouts: UnsafeMutablePointer<Lookout>?
  var lookoutCount: UInt32
  var looks: UInt32
  /// The last serial of a registration in a mode that the loop has given up. Lock.
  var lastSerial: UInt32
  /// How long the last pause of a chasing loop was, in nanoseconds. Owner.
  var chasePause: Int64
  /// The last `SignalTime` that the owner gave. Owner.
  var ownTime: UInt64
  /// When the timer descriptor goes off; `Clock.forever` when it is not set. Owner.
  var timerDate: Int64
  /// How far the wall clock is ahead, for the dates of all timers on it. Lock.
  var wallOffset: Int64

  /// The slots of the loop's modes, and where they are found by the hash of their names. Lock.
  var modes: Buffer<UInt32>
  var modesByName: HashIndex
  /// Jobs that wait for a mode that admits them, linked. Lock.
  var firstJob: UnsafeMutablePointer<Job>?
  var lastJob: UnsafeMutablePointer<Job>?
  /// Counts the jobs that were taken out, so that a pass which goes on behind one notices that it is gone. Lock.
  var jobRemovals: UInt64
  /// An empty queue that changes places with `incoming`. Owner.
  var spare: Buffer<Entry>
  /// Blocks that no run since has been eligible for, oldest first. Owner, who changes them under the lock.
  var deferred: Buffer<Entry>
  /// The innermost run, and frames to use again (`Frame`). Owner; other threads read neither.
  var frame: UnsafeMutableRawPointer?
  var spareFrames: UnsafeMutableRawPointer?
  /// Requests that timers will perform, by their targets, and by what a description of them tells (`DelayedRequest`).
  /// Owner.
  var delayed: KeyedRings
  var delayedAlike: KeyedRings
  /// What the clock said when it was last read for the client's sake, and the kernel's tick when that was outside of
  /// runs (`Loop+Time`). Owner.
  var lastReading: Int64
  var readingTick: Int64
  /// Owner; others may read.
  var counters: LoopCounters

  /// What is queued for a loop, in `pending`.
  enum Pending {
    static let blocks: UInt32 = 1
    static let jobs: UInt32 = 2
    /// Among the blocks may be groups of posts (`PostGroup`).
    static let groups: UInt32 = 4
  }

  /// Bits of `stop`, which are not those of the C interface (`StopFlag`).
  enum Stop {
    /// The innermost run is to stop.
    static let innermost: UInt32 = 1
    /// The innermost run, or the next one.
    static let sticky: UInt32 = 2
    /// With that: every run, up to the outermost.
    static let allLevels: UInt32 = 4
    /// With `sticky`: behind the callback that runs, the rest of the pass is not called.
    static let atOnce: UInt32 = 8
    /// A host's callback did not complete: the innermost run ends. Set by the owner alone.
    static let failed: UInt32 = 16
  }
}

/// Flags of a stop request, by their numbers in the C interface.
enum StopFlag {
  static let allLevels: UInt32 = 1
  static let atOnce: UInt32 = 2

  static func check(_ flags: UInt32) throws(Failure) {
    if flags & ~(allLevels | atOnce) != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
  }
}
