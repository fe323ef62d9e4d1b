// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@_optimize(speed)
@implementation @_cdecl("treadle_timer_create")
public func treadle_timer_create(
  _ context: UnsafePointer<treadle_timer_context>?, _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_timer_create") { () throws(Failure) in
    let out = try need(out_timer, nil, "out_timer")
    let context = try copyStruct(context, "context")
    out.pointee = pointer(try makeTimer(context).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_timer_create_absolute")
public func treadle_timer_create_absolute(
  _ context: UnsafePointer<treadle_timer_context>?, _ date: Double, _ interval: Double,
  _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_timer_create_absolute") { () throws(Failure) in
    let out = try need(out_timer, nil, "out_timer")
    var context = try copyStruct(context, "context")
    guard let time = Clock.monotonic(date: date) else { throw Failure(Status.argument, "date", "is not a number") }
    guard let step = Clock.nanoseconds(interval) else { throw Failure(Status.argument, "interval", "is not a number") }
    context.fire_at = time
    context.interval_ns = max(step, 0)
    out.pointee = pointer(try makeTimer(context).handle)
    return Status.ok
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_timer_schedule")
public func treadle_timer_schedule(
  _ interval_ns: Int64, _ repeats: Bool, _ fire: treadle_timer_fn?, _ info: UnsafeMutableRawPointer?,
  _ release: treadle_release_fn?, _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  let interval = max(interval_ns, 100_000)
  let date = Clock.after(interval, from: Clock.now())
  let status = treadle_timer_schedule_at(date, repeats ? interval : 0, fire, info, release, out_timer)
  if status < 0 { LastError.attribute(to: "treadle_timer_schedule") }
  return status
}

@_optimize(speed)
@implementation @_cdecl("treadle_timer_schedule_at")
public func treadle_timer_schedule_at(
  _ fire_at: Int64, _ interval_ns: Int64, _ fire: treadle_timer_fn?, _ info: UnsafeMutableRawPointer?,
  _ release: treadle_release_fn?, _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_timer_schedule_at") { () throws(Failure) in
    out_timer?.pointee = nil
    do throws(Failure) {
      if fire == nil { throw Failure(Status.argument, "fire", "is NULL") }
      let loop = try Loop.current()
      var context = treadle_timer_context()
      context.info = info
      context.release = release
      context.fire = fire
      context.fire_at = fire_at
      context.interval_ns = interval_ns
      return try addToDefault(try makeTimer(context), of: loop, out_timer)
    } catch {
      release?(info)
      throw error
    }
  }
}

@implementation @_cdecl("treadle_timer_fire")
public func treadle_timer_fire(_ timer: OpaquePointer?) -> treadle_status {
  status("treadle_timer_fire") { () throws(Failure) in
    let result = try Item.holding(.timer, bits(timer), "timer") { item throws(Failure) in try item.fireByHand() }
    if result == Status.closed { throw Shutdown.failure }
    if result == Status.forked { throw Runtime.forkedFailure }
    return result
  }
}

@inline(__always)
private func makeTimer(_ context: treadle_timer_context) throws(Failure) -> Item {
  let code = unsafeBitCast(context.fire, to: UnsafeMutableRawPointer?.self)
  let isPlain =
    context.retain == nil && context.release == nil && context.describe == nil && context.fire_routine == nil
    && context.order == 0 && context.interval_ns == 0 && context.tolerance_ns <= 0
  return isPlain
    ? try Item.timer(code: code, info: context.info, date: context.fire_at) : try makeTimerWithOptions(context, code)
}

@inline(never)
private func makeTimerWithOptions(
  _ context: treadle_timer_context, _ code: UnsafeMutableRawPointer?
) throws(Failure) -> Item {
  let fire = try mainCallback(hasPlain: context.fire != nil, context.fire_routine, "fire_routine")
  do throws(Failure) {
    let options = ItemOptions(
      retain: context.retain, release: context.release, describe: context.describe, order: context.order, main: fire)
    return try Item.timer(
      code: code, info: context.info, options: options, date: context.fire_at,
      interval: context.interval_ns, tolerance: context.tolerance_ns)
  } catch {
    drop(fire)
    throw error
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_timer_set_next_fire")
public func treadle_timer_set_next_fire(_ timer: OpaquePointer?, _ time: Int64) -> treadle_status {
  status("treadle_timer_set_next_fire") { () throws(Failure) in try Item.setNextFire(bits(timer), time) }
}

@implementation @_cdecl("treadle_timer_repeats")
public func treadle_timer_repeats(_ timer: OpaquePointer?) -> Bool {
  answer("treadle_timer_repeats", false) { () throws(Failure) in try Item.holding(.timer, bits(timer), "timer") { $0.repeats } }
}

@implementation @_cdecl("treadle_timer_set_tolerance")
public func treadle_timer_set_tolerance(_ timer: OpaquePointer?, _ tolerance_ns: Int64) -> treadle_status {
  status("treadle_timer_set_tolerance") { () throws(Failure) in
    try Item.holding(.timer, bits(timer), "timer") { item throws(Failure) in try item.setTolerance(tolerance_ns) }
  }
}

@implementation @_cdecl("treadle_timer_get_next_fire")
public func treadle_timer_get_next_fire(
  _ timer: OpaquePointer?, _ out_time: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_timer_get_next_fire") { () throws(Failure) in
    let out = try need(out_time, 0, "out_time")
    out.pointee = try Item.holding(.timer, bits(timer), "timer") { $0.nextFire() }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_timer_get_interval")
public func treadle_timer_get_interval(
  _ timer: OpaquePointer?, _ out_interval_ns: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_timer_get_interval") { () throws(Failure) in
    let out = try need(out_interval_ns, 0, "out_interval_ns")
    out.pointee = try Item.holding(.timer, bits(timer), "timer") { $0.interval }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_timer_get_tolerance")
public func treadle_timer_get_tolerance(
  _ timer: OpaquePointer?, _ out_tolerance_ns: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_timer_get_tolerance") { () throws(Failure) in
    let out = try need(out_tolerance_ns, 0, "out_tolerance_ns")
    out.pointee = try Item.holding(.timer, bits(timer), "timer") { $0.currentTolerance() }
    return Status.ok
  }
}
