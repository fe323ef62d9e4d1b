// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// Pools: work that is deferred until the pass, the thread or the caller's pool ends (POOL-1 to POOL-5). A run loop
/// opens one around every pass, a thread of Treadle's has one around its body. Since 1.0.
public enum RunLoopPool {
  /// Calls `body` with a pool of its own, which is closed when the body returns or throws: what was added
  /// meanwhile on the calling thread is called then, the latest first (POOL-2). Any thread.
  /// - Returns: the body's result.
  /// - Throws: the body's own error; `TreadleError`, without a call of the body, when out of memory, or in the child of
  ///   a fork. Since 1.0.
  public static func withPool<Result>(_ body: () throws -> Result) throws -> Result {
    var token: UInt64 = 0
    try check(treadle_pool_push(&token))
    // Closed already only where the body forked: there nothing is left to close.
    defer { _ = treadle_pool_pop(token) }
    return try body()
  }

  /// Has `work` called when the calling thread's innermost pool is closed; without an open pool, when the thread
  /// ends, after its will-exit notification (POOL-2). It may add more, and call everything (POOL-5). Any thread.
  /// - Parameter work: called and released on the calling thread. An error that it throws is passed to the last-resort
  ///   handler (THR-19).
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork; the work is not called. Since 1.0.
  public static func add(_ work: @escaping @Sendable () throws -> Void) throws(TreadleError) {
    let info = try CallableBody.pass(work)
    let status = treadle_pool_add(info) { info in
      CallableBody.call(info)
      CallableBody.giveBack(info)
    }
    if status < 0 {
      defer { CallableBody.giveBack(info) }
      throw TreadleError(status)
    }
  }
}
