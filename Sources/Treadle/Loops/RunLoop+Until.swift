// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// Running as `NSRunLoop` does: until a date, or until an input came.
extension RunLoop {
  /// Runs the loop in a mode until an input source was handled, until a date, or until nothing is left to wait for;
  /// timers fire meanwhile, and do not end it (NSR-1). A date that has passed makes one pass without blocking. On the
  /// loop's own thread.
  /// - Parameters:
  ///   - mode: the mode to run.
  ///   - limit: when to return at the latest.
  /// - Returns: false, at once, when the mode is empty, and on another thread than the loop's; else true, whatever
  ///   ended it.
  /// - Throws: `TreadleError` when the system refuses to wait, or after `shutDown`. Since 1.0.
  @discardableResult
  public func run(in mode: RunLoopMode = .default, before limit: RunLoopInstant) throws(TreadleError) -> Bool {
    if !isCurrent { return false }
    return try !isEmpty(runOnce(in: mode, before: limit), counters)
  }

  /// Runs the loop in the default mode until a date, or until nothing is left to wait for. At least one pass is made
  /// (NSR-2). A stop ends a pass, not this (NSR-3): with `.distantFuture` an empty mode ends it, the stop of its thread
  /// (THR-18), and, inside of another run of the loop, a stop of all levels (STOP-9). On the loop's own thread.
  /// - Throws: `TreadleError` when the system refuses to wait, or after `shutDown`. Since 1.0.
  public func run(until limit: RunLoopInstant) throws(TreadleError) {
    if !isCurrent { return }
    var passesAtStop: UInt64?
    repeat {
      let result = try runOnce(in: .default, before: limit), counters = self.counters
      if isEmpty(result, counters) { return }
      if result != .stopped { continue }
      // A stop that also prevents the next run's first pass is one of all levels, which lasts until the outermost run
      // ends.
      if counters.passes == passesAtStop || treadle_thread_is_cancelled(treadle_thread_current()) { return }
      passesAtStop = counters.passes
    } while RunLoopInstant.now < limit
  }

  /// Runs the loop in a mode once, until an input source was handled or until a date, without saying which (NSR-4). On
  /// the loop's own thread.
  /// - Throws: `TreadleError` on another thread, when the system refuses to wait, or after `shutDown`. Since 1.0.
  public func acceptInput(in mode: RunLoopMode = .default, before limit: RunLoopInstant) throws(TreadleError) {
    _ = try runOnce(in: mode, before: limit)
  }

  /// Makes one pass of a mode without blocking: calls the due timers and the signalled sources. Returns the date of the
  /// next timer (NSR-5). On the loop's own thread.
  /// - Returns: `.distantFuture` with input sources alone; nil when the mode is empty, and on another thread than the
  ///   loop's.
  /// - Throws: `TreadleError` when the system refuses, or after `shutDown`. Since 1.0.
  public func limitDate(in mode: RunLoopMode = .default) throws(TreadleError) -> RunLoopInstant? {
    if !isCurrent { return nil }
    return try run(in: mode, for: .zero) == .finished ? nil : nextFire(in: mode) ?? .distantFuture
  }

  /// Whether a run made no pass, since nothing was in its mode.
  private func isEmpty(_ result: RunLoopResult, _ counters: RunLoopCounters) -> Bool {
    result == .finished && counters.lastFinish != .becameEmpty
  }

  private func runOnce(in mode: RunLoopMode, before limit: RunLoopInstant) throws(TreadleError) -> RunLoopResult {
    let rest: Duration? = limit == .distantFuture ? nil : limit - RunLoopInstant.now
    return try run(in: mode, for: rest, returnAfterSource: true)
  }
}
