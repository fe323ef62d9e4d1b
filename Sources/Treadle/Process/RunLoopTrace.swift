// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A trace of the process's own run: when each thread ran, slept and called what (RL-16). There is one at a time.
/// `TREADLE_TRACE=file` in the environment records a whole run. Since 1.0.
public enum RunLoopTrace {
  /// Starts to record what the loops of the process do. Any thread.
  /// - Parameter path: the file that `stop` writes, or the end of the process; `%p` in it stands for the process's id.
  /// - Throws: `TreadleError` of the code `.argument` for a path with a NUL, `.state` while there is a trace,
  ///   `.noMemory`. Since 1.0.
  public static func start(writingTo path: String) throws(TreadleError) {
    if path.utf8.contains(0) { throw TreadleError(.argument, "path contains a NUL") }
    try check(path.withCString { treadle_trace_start($0) })
  }

  /// Ends the trace and writes its file, in Perfetto's format: https://ui.perfetto.dev opens it. Any thread.
  /// - Throws: `TreadleError` of the code `.state` if there is no trace; with the trace ended, `.system` if the file
  ///   cannot be written. Since 1.0.
  public static func stop() throws(TreadleError) { try check(treadle_trace_stop()) }

  /// Adds a mark to the trace, on the calling thread's track. Any thread.
  /// - Parameters:
  ///   - label: at most 255 bytes of UTF-8; kept for ever.
  ///   - value: a number that is shown with it.
  /// - Returns: false, without an effect, if there is no trace.
  /// - Throws: `TreadleError` of the code `.argument` for a label with a NUL, `.range` for one that is too long. Since
  ///   1.0.
  @discardableResult
  public static func mark(_ label: String, _ value: Int64 = 0) throws(TreadleError) -> Bool {
    if label.utf8.contains(0) { throw TreadleError(.argument, "label contains a NUL") }
    return try check(label.withCString { treadle_trace_mark($0, value) }) == TREADLE_OK
  }
}
