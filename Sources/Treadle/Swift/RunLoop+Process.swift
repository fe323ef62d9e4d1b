// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// What concerns the whole process.
  extension RunLoop {
    /// Ends all run loops of the process, for good: every loop is stopped at all levels, no callback starts any more on
    /// any thread, and those that run on other threads are waited for. Runs that end so throw, as does every later
    /// run, start and perform; who waits for a perform gets the error. Bodies of threads go on. Also from a callback,
    /// which does not wait for itself (THR-21). [any]
    /// - Parameter timeout: nil waits for ever, zero or less does not wait.
    /// - Returns: false when it was done before and nothing runs.
    /// - Throws: `Failure` when the timeout passes, with everything closed; in the child of a fork. Since 1.0.
    @discardableResult
    public static func shutDown(timeout: Duration? = nil) throws(Failure) -> Bool {
      try Shutdown.begin(timeout: timeout.limit) == Status.ok
    }

    /// Now, in nanoseconds of the monotonic clock: the time base of `RunLoopTimer.nextFire` and of
    /// `RunLoopThread.sleep(until:)`. [any] Since 1.0.
    public static var now: Int64 { Clock.now() }

    /// A recent time of the same clock, for less: read once in a pass of the calling thread's loop, or in a tick of the
    /// system's clock. In a timer's callback it is never before the date that is being served. [any] Since 1.0.
    public static var recent: Int64 { Loop.recentTime() }
  }
#endif
