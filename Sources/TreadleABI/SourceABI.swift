// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@implementation @_cdecl("treadle_source_create")
public func treadle_source_create(
  _ context: UnsafePointer<treadle_source_context>?, _ out_source: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_source_create") { () throws(Failure) in
    let out = try need(out_source, nil, "out_source")
    let context = try copyStruct(context, "context")
    out.pointee = pointer(try makeSource(context).handle)
    return Status.ok
  }
}

private func makeSource(_ context: treadle_source_context) throws(Failure) -> Item {
  let perform = try mainCallback(hasPlain: context.perform != nil, context.perform_routine, "perform_routine")
  var schedule = IndirectCallback(object: nil, invoke: nil, drop: nil)
  var cancel = schedule
  do throws(Failure) {
    schedule = try mainCallback(hasPlain: context.schedule != nil, context.schedule_routine, "schedule_routine")
    cancel = try mainCallback(hasPlain: context.cancel != nil, context.cancel_routine, "cancel_routine")
    var options = ItemOptions(
      retain: context.retain, release: context.release, describe: context.describe, order: context.order,
      main: perform)
    if context.equal != nil {
      options.setIdentity(equal: context.equal, hash: context.hash?(context.info) ?? 0)
    }
    options.setSchedule(schedule: context.schedule, indirect: schedule)
    options.setCancel(cancel: context.cancel, indirect: cancel)
    return try Item.source(
      code: unsafeBitCast(context.perform, to: UnsafeMutableRawPointer?.self), info: context.info, options: options)
  } catch {
    drop(perform)
    drop(schedule)
    drop(cancel)
    throw error
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
    try Item.holding(.source, bits(source), "source") { $0.isSignalled }
  }
}
