// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

extension RunLoop {
  /// Opens a descriptor by which another loop waits for this one, in place of a run: readable whenever a run of the
  /// mode would not sleep, or would be woken, by a timer, too (ABI-9). The other loop then makes passes on this thread,
  /// as long as it is readable: `run(in: mode, for: .zero, whenEmpty: true)`. It may be readable for nothing. For
  /// Foundation's loop there is `serve(inside:)` in `TreadleFoundation`. On the loop's own thread.
  /// - Parameter mode: made if there is none; not the common modes.
  /// - Returns: the caller's, to close when it waits no more; never read from it. Each call opens another one for the
  ///   same. After the loop's thread has ended it is readable never again.
  /// - Throws: `TreadleError` on another thread; of the code `.argument` for the common modes; `.system` when the
  ///   kernel refuses a descriptor; `.noMemory`. Since 1.0.
  public func openPollable(in mode: RunLoopMode = .default) throws(TreadleError) -> Int32 {
    var descriptor: Int32 = -1
    try check(mode.withName { treadle_loop_open_pollable(handle, $0, &descriptor) })
    return descriptor
  }

  /// When a dispatch of the mode will have something to do, for another loop that waits with a timer of its own: a date
  /// that has passed if it has now, the date of the first timer, or `.distantFuture`. Valid until something is queued
  /// for the loop, which the descriptor of `openPollable` tells, or this thread changes something. Does not block;
  /// calls observers of `.prepare` first, unless something is ready (ABI-13). On the loop's own thread.
  /// - Throws: `TreadleError` on another thread; of the code `.argument` for the common modes; `.closed` after
  ///   `shutDown`. Since 1.0.
  public func prepare(in mode: RunLoopMode = .default) throws(TreadleError) -> RunLoopInstant {
    var date: Int64 = 0
    try check(mode.withName { treadle_loop_prepare(handle, $0, &date) })
    return RunLoopInstant(nanoseconds: date)
  }

  /// Runs this loop for another loop on its thread, without waiting: until there is nothing to do, or a budget is used
  /// up, which is checked after each callback; at least one is made if there is any (ABI-13). On the loop's own thread.
  /// - Parameters:
  ///   - mode: the mode to run; not the common modes.
  ///   - budget: how long; nil for no limit.
  ///   - callbacks: how many callbacks, observers not counted; nil for no limit.
  /// - Returns: nil if the budget was used up: the next dispatch of the mode continues after the last callback.
  ///   Otherwise `.timedOut` if there was nothing more to do, or another result as of `run`.
  /// - Throws: `TreadleError` as `run` does, and of the code `.argument` for the common modes. Since 1.0.
  public func dispatch(
    in mode: RunLoopMode = .default, for budget: Duration? = nil, callbacks: Int? = nil
  ) throws(TreadleError) -> RunLoopResult? {
    let items = callbacks.map { max($0, 0) } ?? Int(bitPattern: UInt.max)
    let status = mode.withName { treadle_loop_dispatch(handle, $0, budget.limit, items) }
    return RunLoopResult(rawValue: try check(status))
  }
}
