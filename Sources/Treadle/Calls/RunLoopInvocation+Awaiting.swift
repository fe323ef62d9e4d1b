// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// A task that waits for an invocation's call. Whoever ends the phase `waiting` resumes it.
private final class AwaitedInvocation: @unchecked Sendable {
  private enum Phase: UInt8, AtomicRepresentable { case made, waiting, over }

  private let phase = Atomic<Phase>(.made)
  private let isCancelled = Atomic<Bool>(false)
  /// Whether the task was cancelled. Stored before the call is taken back.
  var isTaskCancelled: Bool { isCancelled.load(ordering: .sequentiallyConsistent) }
  /// Of the two that a call has which is over without its completion: it was accepted, and the completion was given
  /// back. One that is refused gives it back as well.
  private let sides = Atomic<Int>(0)
  /// Written before `waiting`; then of whoever ends that.
  private var continuation: UnsafeContinuation<Void, any Error>?

  private func move(from old: Phase, to new: Phase) -> Bool {
    phase.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// Whether the call may be queued: the task waits, and was not cancelled before.
  func wait(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
    self.continuation = continuation
    if move(from: .made, to: .waiting) { return true }
    continuation.resume(throwing: CancellationError())
    return false
  }

  func end(_ result: Result<Void, any Error>) {
    if move(from: .waiting, to: .over) { continuation?.resume(with: result) }
  }

  /// The task was cancelled. A call that has begun goes on, and is waited for.
  func cancel(_ takeBack: () -> Bool) {
    isCancelled.store(true, ordering: .sequentiallyConsistent)
    if !move(from: .made, to: .over), takeBack() { end(.failure(CancellationError())) }
  }

  /// Told of both sides, in any order.
  func isAcceptedOrGivenBack(_ outcome: () -> Result<Void, any Error>) {
    if sides.add(1, ordering: .acquiringAndReleasing).newValue == 2 { end(outcome()) }
  }

  /// The call is queued: whoever cancelled the task meanwhile did not find it.
  func isQueued(_ takeBack: () -> Bool) {
    if isTaskCancelled, takeBack() { end(.failure(CancellationError())) }
  }

  /// What was written before the task was resumed is visible from here on, to the thread sanitizer too.
  func showsCall() { _ = phase.load(ordering: .acquiring) }
}

extension RunLoopInvocation {
  /// Has the loop's thread call the function, and waits for that without holding the caller's thread: in a pass of one
  /// of the modes, in its turn among what the thread is to perform (PERF-1 to PERF-6), also where the task is on that
  /// thread. The task goes on in the pass after the call, and so it does when other code has cancelled the call, or its
  /// scope: the loop tells, or the end of its thread. While the loop is not run, the call waits.
  ///
  /// Cancelling the task takes the call back, where it has not begun; later it has no effect. Any thread.
  /// - Parameters:
  ///   - loop: where the function is called.
  ///   - modes: nil: the common modes, and `.call`.
  /// - Returns: what the function returned.
  /// - Throws: `CancellationError`; `TreadleError` as `performAndWait`: `.closed` when the loop's thread has finished,
  ///   or ends before it has called (PERF-9), and with the scope. Since 1.0.
  @discardableResult
  public nonisolated(nonsending) func perform(on loop: RunLoop, in modes: [RunLoopMode]? = nil) async throws -> Result {
    let awaited = AwaitedInvocation()
    defer { awaited.showsCall() }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        if awaited.wait(continuation) { queue(awaited, on: loop, in: modes) }
      }
    } onCancel: {
      awaited.cancel(cancel)
    }
    return try result
  }

  /// Queues a call with a completion on its own loop. What the library never performs it gives back.
  private func queue(_ awaited: AwaitedInvocation, on loop: RunLoop, in modes: [RunLoopMode]?) {
    typealias Bodies = (complete: @Sendable () -> Void, giveBack: @Sendable () -> Void)
    let outcome: @Sendable () -> Swift.Result<Void, any Error> = { self.outcome(for: awaited) }
    let bodies: Bodies = ({ awaited.end(outcome()) }, { awaited.isAcceptedOrGivenBack(outcome) })
    var completion = treadle_request()
    completion.struct_size = MemoryLayout<treadle_request>.size
    completion.fn = { target, _ in Body<Bodies>.use(target) { $0.complete() } }
    completion.target = Body<Bodies>.pass(bodies)
    completion.release_target = { target in
      Body<Bodies>.use(target) { $0.giveBack() }
      releaseBody(target)
    }
    do {
      let status = try withUnsafePointer(to: completion) { completion throws(TreadleError) in
        var options = treadle_invocation_options()
        options.completion = completion
        options.completion_loop = loop.handle
        return try queue(&options, on: loop, in: modes)
      }
      try check(status)
      awaited.isAcceptedOrGivenBack(outcome)
      awaited.isQueued(cancel)
    } catch {
      awaited.end(.failure(error))
    }
  }

  /// What has become of a call that is over.
  private func outcome(for awaited: AwaitedInvocation) -> Swift.Result<Void, any Error> {
    switch try? state {
    case .done: .success(())
    // The completion may come before whoever has cancelled the task has said so itself.
    case .cancelled where awaited.isTaskCancelled: .failure(CancellationError())
    case .cancelled: .failure(TreadleError(.cancelled, "the call was cancelled"))
    default:
      .failure(TreadleError(.closed, "the loop's thread, or the scope, has ended before the function was called"))
    }
  }
}
