// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// Starting, ending and joining. Timeouts: nil waits for ever, zero or less does not wait.
  extension RunLoopThread {
    /// Starts the thread, once; it may or may not run already when this returns (THR-2). One that was cancelled
    /// before goes straight to finished, and its body never runs (THR-5). [any]
    /// - Throws: `Failure` when it was started before; when the system has no room for it, it may then be started
    ///   again; after `RunLoop.shutDown`. Since 1.0.
    public func start() throws(Failure) { try thread.start() }

    /// Starts the thread and waits until it has declared itself ready, or has entered the first pass of its loop
    /// (THR-18). [any]
    /// - Throws: as `start`; `Failure` when the timeout passes, and the thread goes on; or when the thread ended,
    ///   or was cancelled, before it was ready. Since 1.0.
    public func startAndWait(timeout: Duration? = nil) throws(Failure) {
      try thread.startAndWait(timeout: timeout.limit)
    }

    /// The calling thread is ready: whoever waits in `startAndWait` goes on (THR-18). Repeated calls, and calls of
    /// threads that nobody waits for, have no effect. [any] Since 1.0.
    public static func declareReady() { Thread.declareReady() }

    /// Whether the thread executes: from its start on the new thread until its will-exit notification is over
    /// (THR-1, THR-14). Threads of others execute from the beginning (THR-9). [any] Since 1.0.
    public var isExecuting: Bool { thread.isExecuting }

    /// Whether the thread has finished (THR-1, THR-14). [any] Since 1.0.
    public var isFinished: Bool { thread.isFinished }

    /// Whether the thread was cancelled: for its own body to look at (THR-6). [any] Since 1.0.
    public var isCancelled: Bool { thread.isCancelled }

    /// Sets the cancelled flag, in any state; nothing else happens (THR-5). [any] Since 1.0.
    public func cancel() { thread.cancel() }

    /// Cancels the thread and stops its loop at all levels, in a way that is not lost, whether the loop runs, will
    /// run, or does not exist yet (THR-18, STOP-9). [any] Since 1.0.
    public func stop() { thread.stop() }

    /// `stop`, then `join` (THR-18). [any]
    /// - Throws: as `join`. Since 1.0.
    public func stopAndJoin(timeout: Duration? = nil) throws(Failure) {
      _ = try thread.stopAndJoin(timeout: timeout.limit)
    }

    /// Waits until the thread is gone: its body, its will-exit notification, its loop's teardown and its
    /// thread-specific destructors are done, and what they wrote is visible (THR-17). [any]
    /// - Throws: `Failure` when the timeout passes, and the thread is joinable still; when the thread is the calling
    ///   one or waits for it; when it is detached, another's, not started, joined or being joined. Since 1.0.
    public func join(timeout: Duration? = nil) throws(Failure) { _ = try thread.join(timeout: timeout.limit) }

    /// Makes the thread detached, once, before its start or later: nobody joins it (THR-17). [any]
    /// - Throws: `Failure` when it is detached, another's, joined or being joined. Since 1.0.
    public func detach() throws(Failure) { try thread.detach() }

    /// Whether nobody can join the thread: it is detached, or not Treadle's (THR-17). [any] Since 1.0.
    public var isDetached: Bool { thread.isDetached }
  }

  extension Duration? {
    /// A timeout for the core; nil for ever.
    var limit: Int64 {
      if let self { self.nanoseconds } else { Clock.forever }
    }
  }
#endif
