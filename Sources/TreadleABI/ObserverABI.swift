// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_observer_create")
public func treadle_observer_create(
  _ context: UnsafePointer<treadle_observer_context>?, _ out_observer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_observer_create") { () throws(Failure) in
    let out = try need(out_observer, nil, "out_observer")
    let context = try ClientStruct.copy(context, "context")
    out.pointee = pointer(
      try Scope.making(in: bits(context.scope)) { () throws(Failure) in try makeObserver(context).handle })
    return Status.ok
  }
}

@implementation @_cdecl("treadle_observer_start")
public func treadle_observer_start(
  _ activities: UInt32, _ notify: treadle_observer_fn?, _ info: UnsafeMutableRawPointer?,
  _ out_observer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_observer_start") { () throws(Failure) in
    out_observer?.pointee = nil
    guard let code = unsafeBitCast(notify, to: UnsafeMutableRawPointer?.self) else {
      throw Failure(Status.argument, "notify", "is NULL")
    }
    let loop = try Loop.current()
    let item = try Item.observer(code: code, info: info, context: Context(), activities: activities, once: false)
    return try addToDefault(item, of: loop, out_observer)
  }
}

private func makeObserver(_ context: treadle_observer_context) throws(Failure) -> Item {
  var made = try Context(
    hostOf(context.host, context.token), context.token, info: context.info, retain: context.retain,
    release: context.release, describe: context.describe, order: context.order, label: context.label,
    main: (context.notify != nil, context.notify_routine), "notify", "notify_routine")
  return try made.making { made throws(Failure) in
    try Item.observer(
      code: unsafeBitCast(context.notify, to: UnsafeMutableRawPointer?.self), info: context.info, context: made,
      activities: context.activities, once: context.once != 0)
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
