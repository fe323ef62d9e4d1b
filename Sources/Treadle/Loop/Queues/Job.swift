// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// One thing that a loop is to perform once, or never, and whose end somebody is told: a request, or a call that is carried
/// to the loop. What it is lies around it, in the memory of whoever made it; the queue and the pass know this much.
struct Job: ~Copyable {
  /// Gets the job's address. Does it, on the loop's thread, in a mode. False when a host's callback did not complete: the run ends.
  typealias Perform = @convention(c) (UnsafeMutableRawPointer, OpaquePointer?, UnsafePointer<CChar>?) -> Bool
  /// It is over: the job's memory may be gone when this returns.
  typealias Finish = @convention(c) (UnsafeMutableRawPointer, UInt32) -> Void

  /// In this order; the values are the C header's of an invocation.
  enum Phase {
    static let idle: UInt32 = 0
    static let queued: UInt32 = 1
    static let running: UInt32 = 2
    static let done: UInt32 = 3
    static let cancelled: UInt32 = 4
    /// The thread that was to do it has ended, or everything was shut down.
    static let dropped: UInt32 = 5
    /// A host's callback did not complete. Nobody is told of it as a phase: it counts as done.
    static let failed: UInt32 = 6
  }

  /// The next in its queue: under the loop's gate while it is incoming, under the loop's lock after.
  var next: UnsafeMutablePointer<Job>?
  /// Counts the jobs of the loop; a pass performs none that came after its look (PERF-4). Written under the gate.
  var sequence: UInt64
  /// The `SignalTime`, which decides on the turn among sources (PERF-5). Written under the gate.
  var time: UInt64
  /// `Phase`. Queued under the gate, running under the lock; after that written by whoever ends it.
  let phase: Atomic<UInt32>
  /// Without modes, the call mode admits it too. Constant once it is queued.
  var isForCallMode: Bool
  /// Somebody waits for the end. Constant once it is queued.
  var isAwaited: Bool
  let perform: Perform
  let finish: Finish
  /// Slots of the modes that admit it; the loop's record stands for the common modes. Empty: those. Constant once it is
  /// queued.
  var modes: Buffer<UInt32>

  init(perform: @escaping Perform, finish: @escaping Finish, isForCallMode: Bool) {
    next = nil
    sequence = 0
    time = 0
    phase = Atomic(Phase.idle)
    self.isForCallMode = isForCallMode
    isAwaited = false
    self.perform = perform
    self.finish = finish
    modes = Buffer()
  }
}
