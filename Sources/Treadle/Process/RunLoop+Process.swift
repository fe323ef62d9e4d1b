// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// What concerns the whole process.
extension RunLoop {
  /// Ends all run loops of the process, for good: every loop is stopped at all levels, no callback starts any more on
  /// any thread, and those that run on other threads are waited for. The runs that it ends throw, and so does every
  /// later run, start and perform; a thread or task that waits for a perform gets the error. Bodies of threads
  /// continue. A callback may call it: it does not wait for itself (THR-21). Any thread.
  /// - Parameter timeout: nil waits for ever, zero or less does not wait.
  /// - Returns: false when it was done before and nothing runs.
  /// - Throws: `TreadleError` when the timeout passes, with everything closed; in the child of a fork. Since 1.0.
  @discardableResult
  public static func shutDown(timeout: Duration? = nil) throws(TreadleError) -> Bool {
    try check(treadle_shutdown(timeout.limit)) == TREADLE_OK
  }

  /// A recent time, for less than `RunLoopInstant.now`: read once in a pass of the calling thread's loop, or in a tick
  /// of the system's clock. In a timer's callback it is never before the date that is being served (RUN-14). Any
  /// thread. Since 1.0.
  public static var recent: RunLoopInstant { RunLoopInstant(nanoseconds: treadle_time_recent()) }

  /// Makes Treadle usable in the child of a fork. The parent's loops and objects are stale there, and may be released
  /// (RL-11). Any thread.
  /// - Returns: false in any other process. Since 1.0.
  @discardableResult
  public static func startAfterFork() -> Bool { treadle_after_fork_child() == TREADLE_OK }
}
