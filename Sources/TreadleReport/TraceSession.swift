// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase
import TreadleCore

/// The trace that goes on, if any: one at a time. All of it lies in the page that is new in the child of a fork,
/// guarded by its lock.
package enum TraceSession {
  private struct State {
    /// Where it goes; nil: there is none.
    var path: UnsafeMutablePointer<CChar>?
    /// One that has ended is being written: without the lock, since a file may make its writer wait.
    var isWriting: Bool
  }

  private static func withState<Result>(_ body: (UnsafeMutablePointer<State>) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    let lock = Mutex.at(treadle_system_trace_lock())
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    return try body(treadle_system_trace_words().assumingMemoryBound(to: State.self))
  }

  package static func start(_ path: UnsafePointer<CChar>) throws(Failure) {
    try Runtime.start()
    guard let copy = ModeName(path).copy() else { throw Failure.noMemory("path") }
    do throws(Failure) {
      try withState { state throws(Failure) in
        if state.pointee.path != nil || treadle_system_watched() & UInt32(TREADLE_SYSTEM_TRACES) != 0 {
          throw Failure(Status.state, "trace", "goes on already")
        }
        if state.pointee.isWriting { throw Failure(Status.state, "trace", "is being written") }
        state.pointee.path = copy
        treadle_system_begin_trace()
      }
    } catch {
      treadle_system_free(copy)
      throw error
    }
  }

  /// Ends the trace that goes on, and writes it.
  package static func stop() throws(Failure) {
    try Runtime.start()
    let path = try withState { state throws(Failure) in
      if treadle_system_watched() & UInt32(TREADLE_SYSTEM_TRACES) == 0 {
        throw Failure(Status.state, "trace", "was not started")
      }
      treadle_system_watch_change(UInt32(TREADLE_SYSTEM_TRACES), 0)
      let path = state.pointee.path
      state.pointee.path = nil
      state.pointee.isWriting = true
      return path
    }
    defer { treadle_system_free(path) }
    // That of the environment has no path of its own.
    let place = UnsafePointer(path) ?? treadle_system_trace_path()
    let result = write(place)
    try withState { $0.pointee.isWriting = false }
    if result < 0 {
      LastError.detail(place)
      throw Failure(Status.system, "file of the trace", "cannot be written", osError: 0 &- result)
    }
  }

  private static func write(_ path: UnsafePointer<CChar>) -> Int32 {
    let output = treadle_system_begin_output(path)
    if output.fd < 0 { return output.fd }
    var writer = TraceFile(output.fd)
    writer.write(treadle_system_trace_session())
    return treadle_system_end_output(output, writer.result)
  }

  /// Notes something of the client's own in the trace; false if there is none.
  package static func mark(_ label: UnsafePointer<CChar>, _ value: Int64) -> Bool {
    guard Watch.isTracing, let kept = Labels.keep(label) else { return false }
    Trace.record(Trace.What.mark, subject: UInt(bitPattern: kept), flow: UInt64(bitPattern: value))
    return true
  }
}

/// The process ends: the trace of the environment, or one that nobody has stopped, is written.
@_cdecl("libtreadle_trace_ends")
public func traceEnds() {
  if !Runtime.isStarted || !Watch.isTracing { return }
  do throws(Failure) {
    try TraceSession.stop()
  } catch {
    Log.tellNoTrace(error.osError)
  }
}
