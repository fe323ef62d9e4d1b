// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// Messages for debugging: what is often a mistake, such as a refused call or a run that finishes at once. Since 1.0.
public enum RunLoopLog {
  /// Gets a message, of one line. It may call every function; messages about its own calls are dropped. Called on the
  /// thread that the message is about, with no lock held. Since 1.0.
  public typealias Handler = @Sendable (_ message: String) -> Void

  /// Sets the process's log function in place of the one before, and switches messages on; nil for the default:
  /// standard error, with `TREADLE_DEBUG=1` in the environment. Any thread.
  /// - Parameter handler: released when it was replaced and no call of it runs.
  /// - Throws: `TreadleError` when out of memory; the handler before stays. Since 1.0.
  public static func setHandler(_ handler: Handler?) throws(TreadleError) {
    guard let handler else {
      try check(treadle_set_log(nil, nil, nil))
      return
    }
    let call: treadle_log_fn = { message, info in
      guard let message else { return }
      Body<Handler>.use(info) { $0(String(cString: message)) }
    }
    // A handler that is refused is given back by the library.
    try check(treadle_set_log(call, Body.pass(handler), releaseBody))
  }
}
