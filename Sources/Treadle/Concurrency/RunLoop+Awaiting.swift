// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// A body that a task waits for while a loop is to call it: what C knows of it, whatever the value's type.
private class AwaitedCall: @unchecked Sendable {
  fileprivate enum Phase: UInt8, AtomicRepresentable {
    /// The task does not wait yet.
    case made
    /// It waits, and the continuation is there.
    case waiting
    /// The body is called: nothing else resumes the task.
    case begun
    /// It was called, cancelled or dropped.
    case over
  }

  /// Whoever ends `made` or `waiting` has the body and the continuation, and resumes the task.
  private let phase = Atomic<Phase>(.made)

  fileprivate final func move(from old: Phase, to new: Phase) -> Bool {
    phase.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// What the body has written is visible from here on, to the thread sanitizer too: it does not see the runtime's own
  /// order where the task is resumed before it is suspended.
  fileprivate final func showsBody() { _ = phase.load(ordering: .acquiring) }

  /// On the loop's thread.
  func call() {}
  /// It is never called: without effect if it was.
  func drop(_ error: any Error) {}

  /// Queues it. Whether the post is called, discarded or refused, the task is resumed.
  fileprivate final func post(on loop: RunLoop, in modes: [RunLoopMode]?) {
    var post = treadle_post()
    post.struct_size = MemoryLayout<treadle_post>.size
    post.fn = { info in
      if let info { Unmanaged<AwaitedCall>.fromOpaque(info).takeUnretainedValue().call() }
    }
    post.destroy = { info in
      guard let info else { return }
      let error = TreadleError(.closed, "the loop's thread, or the scope, has ended before the body was called")
      Unmanaged<AwaitedCall>.fromOpaque(info).takeRetainedValue().drop(error)
    }
    post.info = Unmanaged.passRetained(self).toOpaque()
    _ = loop.queue(&post, in: modes)
  }
}

private final class AwaitedBody<Value: Sendable>: AwaitedCall, @unchecked Sendable {
  /// Written before `waiting`; then of whoever ends that.
  private var continuation: UnsafeContinuation<Value, any Error>?
  /// Of whoever ends `made` or `waiting`.
  private var body: (@Sendable () throws -> Value)?

  init(_ body: @escaping @Sendable () throws -> Value) { self.body = body }

  /// Whether the body may be queued: the task waits, and was not cancelled before.
  func wait(_ continuation: UnsafeContinuation<Value, any Error>) -> Bool {
    self.continuation = continuation
    if move(from: .made, to: .waiting) { return true }
    continuation.resume(throwing: CancellationError())
    return false
  }

  /// The task was cancelled: without effect once the body has begun.
  func cancel() {
    if move(from: .made, to: .over) { body = nil } else { drop(CancellationError()) }
  }

  override func drop(_ error: any Error) {
    guard move(from: .waiting, to: .over) else { return }
    body = nil
    continuation?.resume(throwing: error)
  }

  override func call() {
    guard move(from: .waiting, to: .begun), let result = callBody() else { return }
    _ = move(from: .begun, to: .over)
    continuation?.resume(with: result)
  }

  /// The body is gone when this returns, and so before the task goes on.
  private func callBody() -> Result<Value, any Error>? {
    guard let body else { return nil }
    self.body = nil
    return Result { try body() }
  }
}

extension RunLoop {
  /// Has the loop's thread call a body in a pass of one of the modes, and waits for that without holding the caller's
  /// thread: queued like a post, in order, with a wake (BLK-1 to BLK-5). On the loop's own thread it goes through the
  /// queue as well, and is not called before the next drain. For the loop of a `RunLoopThread`: `try await
  /// thread.loop.perform { … }`.
  ///
  /// Cancelling the task takes the body out of the queue, where it has not begun; later it has no effect. While no
  /// thread runs the loop the body waits. Any thread.
  /// - Parameters:
  ///   - modes: nil, or an empty list: the common modes.
  ///   - body: released when it was called, or never will be.
  /// - Returns: what the body returns.
  /// - Throws: the body's own error; `CancellationError`; `TreadleError` of the code `.closed` when the loop's thread
  ///   has ended, or ends before it has called the body (RL-8), and when memory is out. Since 1.0.
  @discardableResult
  public nonisolated(nonsending) func perform<Value: Sendable>(
    in modes: [RunLoopMode]? = nil, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let awaited = AwaitedBody(body)
    defer { awaited.showsBody() }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        if awaited.wait(continuation) { awaited.post(on: self, in: modes) }
      }
    } onCancel: {
      awaited.cancel()
    }
  }
}
