// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@_optimize(speed)
@implementation @_cdecl("treadle_timer_create")
public func treadle_timer_create(
  _ context: UnsafePointer<treadle_timer_context>?, _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_timer_create") { () throws(Failure) in
    let out = try need(out_timer, nil, "out_timer")
    let context = try ClientStruct.copy(context, "context")
    out.pointee = pointer(
      try Scope.making(in: bits(context.scope)) { () throws(Failure) in try makeTimer(context).handle })
    return Status.ok
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_timer_start")
public func treadle_timer_start(
  _ delay_ns: Int64, _ interval_ns: Int64, _ fire: treadle_timer_fn?, _ info: UnsafeMutableRawPointer?,
  _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_timer_start") { () throws(Failure) in
    out_timer?.pointee = nil
    guard let fire else { throw Failure(Status.argument, "fire", "is NULL") }
    let loop = try Loop.current()
    // A timer that nobody could arm ends at once.
    if delay_ns == Clock.forever && out_timer == nil { return Status.ok }
    let timer = try Item.timer(
      on: loop, after: delay_ns, interval: interval_ns, code: unsafeBitCast(fire, to: UnsafeMutableRawPointer.self),
      info: info)
    return try addToDefault(timer, of: loop, out_timer)
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
    && context.flags == 0 && context.reserved == 0 && context.interval_ns == 0 && context.tolerance_ns <= 0
    && context.label == nil && context.host == nil && context.token == 0
  return isPlain
    ? try Item.timer(code: code, info: context.info, date: context.fire_at) : try makeTimerWithOptions(context, code)
}

@inline(never)
private func makeTimerWithOptions(
  _ context: treadle_timer_context, _ code: UnsafeMutableRawPointer?
) throws(Failure) -> Item {
  if context.flags & ~3 != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
  if context.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
  var made = try Context(
    hostOf(context.host, context.token), context.token, info: context.info, retain: context.retain,
    release: context.release, describe: context.describe, order: 0, label: context.label,
    main: (context.fire != nil, context.fire_routine), "fire", "fire_routine")
  return try made.making { made throws(Failure) in
    try Item.timer(
      code: code, info: context.info, context: made, date: context.fire_at,
      interval: context.interval_ns, tolerance: context.tolerance_ns, ends: context.flags & 1 != 0,
      onWallClock: context.flags & 2 != 0)
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_timer_set_time")
public func treadle_timer_set_time(_ timer: OpaquePointer?, _ time_ns: Int64, _ flags: UInt32) -> treadle_status {
  status("treadle_timer_set_time") { () throws(Failure) in
    // Two calls, each inlined by itself: a timeout that is restarted often takes none of the other's steps.
    switch flags {
    case 0: return try Item.setNextFire(bits(timer), .after(time_ns))
    case UInt32(TREADLE_ARM_AT_DATE): return try Item.setNextFire(bits(timer), .at(time_ns))
    default: throw Failure(Status.argument, "flags", "has unknown flags")
    }
  }
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
