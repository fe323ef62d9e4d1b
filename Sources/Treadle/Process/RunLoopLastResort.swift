// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// The handler of uncaught errors: an error that left a thread's body, a callback, or something that was performed
/// without a waiter (THR-19). Nothing leaves Treadle's own frames. Since 1.0.
public enum RunLoopLastResort {
  /// Deals with an error: on which thread, of what kind, such as "Swift error", and its text. True when it has dealt
  /// with it. Called on the thread where it happened (THR-19). Since 1.0.
  public typealias Handler = @Sendable (_ thread: RunLoopThread?, _ kind: String, _ message: String) -> Bool

  /// Sets the process's handler in place of the one before; nil for the default, which prints one line to standard
  /// error and returns false (THR-19). Any thread.
  /// - Parameter handler: released when it was replaced and no call of it runs.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork; the handler before stays. Since 1.0.
  public static func setHandler(_ handler: Handler?) throws(TreadleError) {
    guard let handler else {
      try check(treadle_set_last_resort(nil, nil, nil))
      return
    }
    let call: treadle_last_resort_fn = { thread, kind, message, info in
      guard let kind, let message else { return false }
      let object = thread.flatMap { try? RunLoopThread(retaining: $0) }
      return Body<Handler>.use(info) { $0(object, String(cString: kind), String(cString: message)) } ?? false
    }
    // A handler that is refused is given back by the library.
    try check(treadle_set_last_resort(call, Body.pass(handler), releaseBody))
  }

  /// Hands an error to the handler (THR-19). Any thread.
  /// - Returns: whether it was dealt with. Since 1.0.
  @discardableResult
  public static func report(kind: String, message: String) -> Bool { treadle_report_error(kind, message) == TREADLE_OK }

  /// Hands an error of Swift's to the handler (THR-19). Any thread.
  /// - Returns: whether it was dealt with. Since 1.0.
  @discardableResult
  public static func report(_ error: any Error) -> Bool {
    report(kind: "Swift error", message: String(describing: error))
  }
}
