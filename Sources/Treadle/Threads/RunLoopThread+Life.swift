// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// Starting, ending and joining. Timeouts: nil waits for ever, zero or less does not wait.
extension RunLoopThread {
  /// Starts the thread, once; it may or may not run already when this returns (THR-2). One that was cancelled
  /// before goes straight to finished, and its body never runs (THR-5). Any thread.
  /// - Throws: `TreadleError` when it was started before; when the system has no room for it, it may then be started
  ///   again; after `RunLoop.shutDown`. Since 1.0.
  public func start() throws(TreadleError) { try check(treadle_thread_start(handle)) }

  /// Starts the thread and waits until it has declared itself ready, or has entered the first pass of its loop
  /// (THR-18). Any thread.
  /// - Throws: as `start`; `TreadleError` when the timeout passes, and the thread goes on; or when the thread ended,
  ///   or was cancelled, before it was ready. Since 1.0.
  public func startAndWait(timeout: Duration? = nil) throws(TreadleError) {
    try check(treadle_thread_start_and_wait(handle, timeout.limit))
  }

  /// Declares the calling thread ready: `startAndWait` returns to its caller (THR-18). Repeated calls, and calls
  /// without a waiter, have no effect. Any thread. Since 1.0.
  public static func declareReady() { _ = treadle_thread_declare_ready() }

  /// Whether the thread executes: from its start on the new thread until its will-exit notification is over
  /// (THR-1, THR-14). Threads of others execute from the beginning (THR-9). Any thread. Since 1.0.
  public var isExecuting: Bool { treadle_thread_is_executing(handle) }

  /// Whether the thread has finished (THR-1, THR-14). Any thread. Since 1.0.
  public var isFinished: Bool { treadle_thread_is_finished(handle) }

  /// Whether the thread was cancelled: for its own body to look at (THR-6). Any thread. Since 1.0.
  public var isCancelled: Bool { treadle_thread_is_cancelled(handle) }

  /// Sets the cancelled flag, in any state; nothing else happens (THR-5). Any thread. Since 1.0.
  public func cancel() { _ = treadle_thread_cancel(handle) }

  /// Cancels the thread and stops its loop at all levels, in a way that is not lost, whether the loop runs, will run,
  /// or does not exist yet (THR-18, STOP-9). Everything that the running pass has taken is still called, such as all
  /// posts queued then; what comes later is not called (STOP-3). With `atOnce` the run ends after the callback that
  /// runs, and the rest of its pass is not called either. Any thread. Since 1.0.
  public func stop(atOnce: Bool = false) {
    _ = treadle_thread_request_stop(handle, atOnce ? UInt32(TREADLE_STOP_AT_ONCE) : 0)
  }

  /// `stop`, then `join` (THR-18). Any thread.
  /// - Throws: as `join`. Since 1.0.
  public func stopAndJoin(timeout: Duration? = nil, atOnce: Bool = false) throws(TreadleError) {
    try check(treadle_thread_request_stop(handle, atOnce ? UInt32(TREADLE_STOP_AT_ONCE) : 0))
    try join(timeout: timeout)
  }

  /// Waits until the thread is gone: its body, its will-exit notification, its loop's teardown and its
  /// thread-specific destructors are done, and what they wrote is visible (THR-17). Any thread.
  /// - Throws: `TreadleError` when the timeout passes, and the thread is joinable still; when the thread is the calling
  ///   one or waits for it; when it is detached, another's, not started, joined or being joined. Since 1.0.
  public func join(timeout: Duration? = nil) throws(TreadleError) {
    try check(treadle_thread_join(handle, timeout.limit, nil))
  }

  /// Detaches the thread, once, before its start or later: it is not joined (THR-17). Any thread.
  /// - Throws: `TreadleError` when it is detached, another's, joined or being joined. Since 1.0.
  public func detach() throws(TreadleError) { try check(treadle_thread_detach(handle)) }

  /// Whether the thread cannot be joined: it is detached, or foreign (THR-17). Any thread. Since 1.0.
  public var isDetached: Bool { treadle_thread_is_detached(handle) }
}
