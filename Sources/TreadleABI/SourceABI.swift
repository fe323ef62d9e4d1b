// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_source_create")
public func treadle_source_create(
  _ context: UnsafePointer<treadle_source_context>?, _ out_source: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_source_create") { () throws(Failure) in
    let out = try need(out_source, nil, "out_source")
    let context = try ClientStruct.copy(context, "context")
    out.pointee = pointer(
      try Scope.making(in: bits(context.scope)) { () throws(Failure) in try makeSource(context).handle })
    return Status.ok
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_source_start")
public func treadle_source_start(
  _ perform: treadle_perform_fn?, _ info: UnsafeMutableRawPointer?, _ out_source: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_source_start") { () throws(Failure) in
    out_source?.pointee = nil
    guard let code = unsafeBitCast(perform, to: UnsafeMutableRawPointer?.self) else {
      throw Failure(Status.argument, "perform", "is NULL")
    }
    let loop = try Loop.current()
    return try addToDefault(try Item.source(code: code, info: info), of: loop, out_source)
  }
}

private func makeSource(_ context: treadle_source_context) throws(Failure) -> Item {
  let code = unsafeBitCast(context.perform, to: UnsafeMutableRawPointer?.self)
  let isPlain =
    context.retain == nil && context.release == nil && context.describe == nil && context.equal == nil
    && context.schedule == nil && context.cancel == nil && context.schedule_routine == nil
    && context.cancel_routine == nil && context.perform_routine == nil && context.order == 0 && context.host == nil
    && context.label == nil && context.token == 0 && context.host_wants == 0 && context.reserved == 0
  if isPlain { return try Item.source(code: code, info: context.info) }
  let host = try hostOf(context.host, context.token)
  if context.host_wants & ~3 != 0 { throw Failure(Status.argument, "host_wants", "has unknown flags") }
  if context.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
  if host == nil && context.host_wants != 0 { throw Failure(Status.argument, "host_wants", "is given without a host") }
  var made = try Context(
    host, context.token, wants: context.host_wants, info: context.info, retain: context.retain,
    release: context.release, describe: context.describe, order: context.order, label: context.label,
    main: (context.perform != nil, context.perform_routine), "perform", "perform_routine")
  return try made.making { made throws(Failure) in
    if host == nil {
      made.schedule = context.schedule
      made.scheduleIndirect = try mainCallback(
        hasPlain: context.schedule != nil, context.schedule_routine, "schedule_routine")
      made.cancel = context.cancel
      made.cancelIndirect = try mainCallback(hasPlain: context.cancel != nil, context.cancel_routine, "cancel_routine")
      made.setIdentity(context.equal, context.hash, context.info)
    } else {
      try refuse(context.equal != nil, "equal")
      try refuse(context.hash != nil, "hash")
      try refuse(context.schedule != nil, "schedule")
      try refuse(context.schedule_routine != nil, "schedule_routine")
      try refuse(context.cancel != nil, "cancel")
      try refuse(context.cancel_routine != nil, "cancel_routine")
    }
    return try Item.source(code: code, info: context.info, context: made)
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_source_signal")
public func treadle_source_signal(_ source: OpaquePointer?) -> treadle_status {
  status("treadle_source_signal") { () throws(Failure) in try Item.signal(source, wake: false) }
}

@_optimize(speed)
@implementation @_cdecl("treadle_source_signal_and_wake")
public func treadle_source_signal_and_wake(_ source: OpaquePointer?) -> treadle_status {
  status("treadle_source_signal_and_wake") { () throws(Failure) in try Item.signal(source, wake: true) }
}

@implementation @_cdecl("treadle_source_is_signalled")
public func treadle_source_is_signalled(_ source: OpaquePointer?) -> Bool {
  answer("treadle_source_is_signalled", false) { () throws(Failure) in
    try Item.holding(.source, bits(source), "source") { $0.tellSignalled() }
  }
}
