// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleBase
import TreadleReport

// Traces of one's own run.

@implementation @_cdecl("treadle_trace_start")
public func treadle_trace_start(_ path: UnsafePointer<CChar>?) -> treadle_status {
  status("treadle_trace_start") { () throws(Failure) in
    guard let path else { throw Failure(Status.argument, "path", "is NULL") }
    try TraceSession.start(path)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_trace_stop")
public func treadle_trace_stop() -> treadle_status {
  status("treadle_trace_stop") { () throws(Failure) in
    try TraceSession.stop()
    return Status.ok
  }
}

@implementation @_cdecl("treadle_trace_mark")
public func treadle_trace_mark(_ label: UnsafePointer<CChar>?, _ value: Int64) -> treadle_status {
  status("treadle_trace_mark") { () throws(Failure) in
    guard let label else { throw Failure(Status.argument, "label", "is NULL") }
    try checkLabel(label)
    try Runtime.start()
    return TraceSession.mark(label, value) ? Status.ok : Status.ignored
  }
}
