// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// Runs actors and tasks on a run loop: an actor whose `unownedExecutor` it is lives on the loop's thread, and so does
/// a task that prefers it.
///
///     actor Store {
///       private let executor: LoopExecutor
///       nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///       init(on loop: RunLoop) throws { executor = try loop.executor }
///     }
///
/// Jobs are posted to the loop: they run in passes of its modes, in the order in which they were queued, whatever their
/// priority (BLK-3), those that a job queues in a later drain (BLK-5). They do not count as handled sources (BLK-7).
/// While the loop is not run they wait. A job that runs the loop itself, in a nested run, holds up all others of the
/// loop; inside of other callbacks a nested run serves them, so do not run the loop inside of an `assumeIsolated`.
///
/// **When the loop's thread ends**, or has ended, jobs cannot be dropped: their waiters would wait for ever. They run
/// to their end elsewhere, on the threads of Swift's own pool, still one at a time and in order. So isolation is kept,
/// but code of an actor that counts on the thread itself must ask whether it is still there: `RunLoop.isCurrent` is
/// false then, `RunLoop.perform` throws `TreadleError` of the code `.closed`, and so does `post`. Since 1.0.
public final class LoopExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
  /// How the post of this turn has ended.
  private enum Turn {
    /// It has not, or it was discarded.
    case waiting
    /// The jobs ran.
    case ran
    /// It was called in a job's nested run, and the end of that job posts again.
    case held
  }

  private let lane: LoopLane
  private let modes: [RunLoopMode]?
  private let queue = TurnQueue<UnownedJob>()
  /// Touched only by whoever has the queue's turn: the one post that is under way, then its fn, then its destroy.
  private var turn = Turn.waiting

  /// An executor that runs its jobs in some modes of a loop. Jobs of all executors of one loop exclude each other,
  /// whatever their modes; those of one executor keep their order. Any thread.
  /// - Parameters:
  ///   - loop: also one whose thread has not started yet, or is gone.
  ///   - modes: nil, or an empty list: the common modes.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  public init(on loop: RunLoop, in modes: [RunLoopMode]? = nil) throws(TreadleError) {
    self.modes = modes
    lane = try LoopLane.join(loop)
  }

  deinit { lane.leave() }

  // MARK: For the concurrency runtime

  /// Queues a job, and wakes the loop. Never locks, and never refuses a job. Any thread. Since 1.0.
  public func enqueue(_ job: consuming ExecutorJob) {
    if queue.append(UnownedJob(job)) { startTurn() }
  }

  /// Two executors are one where code is isolated to it, if their loop is one. Any thread. Since 1.0.
  public func isSameExclusiveExecutionContext(other: LoopExecutor) -> Bool { lane === other.lane }

  /// Whether the calling code may access the state of the executor's actors: on the loop's thread, as long as the
  /// loop is served by it. So `assumeIsolated` works in callbacks of the loop. Any thread. Since 1.0.
  public func isIsolatingCurrentContext() -> Bool? { lane.isCurrent }

  /// Ends the process with a message unless `isIsolatingCurrentContext`. Any thread. Since 1.0.
  public func checkIsolated() { precondition(lane.isCurrent, "this is not the thread of the executor's run loop") }

  /// The executor for an actor's `unownedExecutor`. The actor keeps this object: nothing else does. Any thread. Since
  /// 1.0.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(complexEquality: self) }

  // MARK: Turns

  private func startTurn() {
    if lane.isKnownGone { lane.adopt(self) } else { post() }
  }

  /// Posts the turn. Whether it is refused, discarded or called, its destroy is told, which goes on from there.
  private func post() {
    var post = treadle_post()
    post.struct_size = MemoryLayout<treadle_post>.size
    post.fn = { info in
      if let info { Unmanaged<LoopExecutor>.fromOpaque(info).takeUnretainedValue().runTurn() }
    }
    post.destroy = { info in
      if let info { Unmanaged<LoopExecutor>.fromOpaque(info).takeRetainedValue().endTurn() }
    }
    post.info = Unmanaged.passRetained(self).toOpaque()
    _ = lane.loop.queue(&post, in: modes)
  }

  /// The post is called, on the loop's thread.
  private func runTurn() {
    if lane.isBusy {
      turn = .held
      lane.held.append(self)
      return
    }
    lane.isBusy = true
    runJobs()
    lane.isBusy = false
    turn = .ran
    let held = lane.held
    lane.held = []
    for executor in held { executor.post() }
  }

  /// The post is over.
  private func endTurn() {
    let ended = turn
    turn = .waiting
    switch ended {
    case .ran: if !queue.endTurn() { post() }
    case .held: return
    // By the end of the loop's thread, or by a scope that the poster had entered. That is asked from a thread which is
    // neither.
    case .waiting: Task.detached { self.postAgain() }
    }
  }

  private func postAgain() {
    if lane.isLoopGone { lane.adopt(self) } else { post() }
  }

  /// For the lane's task, when the loop's thread is gone.
  /// - Returns: whether nothing is left, and the turn given up.
  func runLeftovers() -> Bool {
    runJobs()
    return queue.endTurn()
  }

  private func runJobs() {
    queue.takeAll { $0.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor()) }
  }
}

extension LoopExecutor: CustomStringConvertible {
  /// The modes and the loop's thread, for debugging. Any thread. Since 1.0.
  public var description: String {
    let modes = modes.map { $0.map(\.name).joined(separator: ", ") } ?? "the common modes"
    return "LoopExecutor(\(modes), \(lane.description))"
  }
}

extension RunLoop {
  /// The executor that runs actors and tasks on this loop, in its common modes: one object as long as this one lives,
  /// which keeps it. Any thread.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  public var executor: LoopExecutor {
    get throws(TreadleError) {
      if let executor = ownExecutor.load() { return executor }
      return ownExecutor.storeIfNil(try LoopExecutor(on: self))
    }
  }
}
