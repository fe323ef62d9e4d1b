// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@implementation @_cdecl("treadle_observer_create")
public func treadle_observer_create(
  _ context: UnsafePointer<treadle_observer_context>?, _ out_observer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_observer_create") { () throws(Failure) in
    let out = try need(out_observer, nil, "out_observer")
    let context = try copyStruct(context, "context")
    out.pointee = pointer(try makeObserver(context).handle)
    return Status.ok
  }
}

private func makeObserver(_ context: treadle_observer_context) throws(Failure) -> Item {
  let notify = try mainCallback(hasPlain: context.notify != nil, context.notify_routine, "notify_routine")
  do throws(Failure) {
    let options = ItemOptions(
      retain: context.retain, release: context.release, describe: context.describe, order: context.order,
      main: notify)
    return try Item.observer(
      code: unsafeBitCast(context.notify, to: UnsafeMutableRawPointer?.self), info: context.info, options: options,
      activities: context.activities, once: context.once != 0)
  } catch {
    drop(notify)
    throw error
  }
}

@implementation @_cdecl("treadle_observer_repeats")
public func treadle_observer_repeats(_ observer: OpaquePointer?) -> Bool {
  answer("treadle_observer_repeats", false) { () throws(Failure) in
    try Item.holding(.observer, bits(observer), "observer") { $0.repeats }
  }
}

@implementation @_cdecl("treadle_observer_get_activities")
public func treadle_observer_get_activities(
  _ observer: OpaquePointer?, _ out_activities: UnsafeMutablePointer<UInt32>?
) -> treadle_status {
  status("treadle_observer_get_activities") { () throws(Failure) in
    let out = try need(out_activities, 0, "out_activities")
    out.pointee = try Item.holding(.observer, bits(observer), "observer") { $0.activities }
    return Status.ok
  }
}
