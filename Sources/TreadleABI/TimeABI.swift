// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_time_now")
public func treadle_time_now() -> Int64 { Clock.now() }

@_optimize(speed)
@implementation @_cdecl("treadle_time_recent")
public func treadle_time_recent() -> Int64 { Loop.recentTime() }

@implementation @_cdecl("treadle_time_from_seconds")
public func treadle_time_from_seconds(_ seconds: Double, _ out_ns: UnsafeMutablePointer<Int64>?) -> treadle_status {
  status("treadle_time_from_seconds") { () throws(Failure) in
    let out = try need(out_ns, 0, "out_ns")
    guard let time = Clock.nanoseconds(seconds) else { throw Failure(Status.argument, "seconds", "is not a number") }
    out.pointee = time
    return Status.ok
  }
}

@implementation @_cdecl("treadle_time_from_absolute")
public func treadle_time_from_absolute(_ date: Double, _ out_time: UnsafeMutablePointer<Int64>?) -> treadle_status {
  status("treadle_time_from_absolute") { () throws(Failure) in
    let out = try need(out_time, 0, "out_time")
    guard let time = Clock.monotonic(date: date) else { throw Failure(Status.argument, "date", "is not a number") }
    out.pointee = time
    return Status.ok
  }
}

@implementation @_cdecl("treadle_time_to_absolute")
public func treadle_time_to_absolute(_ time: Int64) -> Double { Clock.date(monotonic: time) }
