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

@implementation @_cdecl("treadle_observer_retain")
public func treadle_observer_retain(_ observer: OpaquePointer?) -> treadle_status {
  status("treadle_observer_retain") { () throws(Failure) in try retain(.observer, observer, "observer") }
}

@implementation @_cdecl("treadle_observer_release")
public func treadle_observer_release(_ observer: OpaquePointer?) -> treadle_status {
  status("treadle_observer_release") { () throws(Failure) in try release(.observer, observer, "observer") }
}

@implementation @_cdecl("treadle_observer_invalidate")
public func treadle_observer_invalidate(_ observer: OpaquePointer?) -> treadle_status {
  status("treadle_observer_invalidate") { () throws(Failure) in
    try Item.invalidate(.observer, bits(observer), "observer")
    return Status.ok
  }
}

@implementation @_cdecl("treadle_observer_close")
public func treadle_observer_close(_ observer: OpaquePointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_observer_close") { () throws(Failure) in try close(.observer, observer, timeout_ns, "observer") }
}

@implementation @_cdecl("treadle_observer_is_valid")
public func treadle_observer_is_valid(_ observer: OpaquePointer?) -> Bool {
  answer("treadle_observer_is_valid", false) { () throws(Failure) in
    try Item.isValid(.observer, bits(observer), "observer")
  }
}

@implementation @_cdecl("treadle_observer_get_info")
public func treadle_observer_get_info(
  _ observer: OpaquePointer?, _ out_info: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> treadle_status {
  status("treadle_observer_get_info") { () throws(Failure) in try info(.observer, observer, "observer", out_info) }
}

@implementation @_cdecl("treadle_observer_describe")
public func treadle_observer_describe(
  _ observer: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_observer_describe") { () throws(Failure) in
    try describe(.observer, observer, "observer", buffer, capacity, out_length)
  }
}

@implementation @_cdecl("treadle_observer_get_order")
public func treadle_observer_get_order(
  _ observer: OpaquePointer?, _ out_order: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_observer_get_order") { () throws(Failure) in try order(.observer, observer, "observer", out_order) }
}

@implementation @_cdecl("treadle_loop_add_observer")
public func treadle_loop_add_observer(
  _ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_loop_add_observer") { () throws(Failure) in try add(.observer, loop, observer, "observer", mode) }
}

@implementation @_cdecl("treadle_loop_remove_observer")
public func treadle_loop_remove_observer(
  _ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_loop_remove_observer") { () throws(Failure) in try remove(.observer, loop, observer, "observer", mode)
  }
}

@implementation @_cdecl("treadle_loop_contains_observer")
public func treadle_loop_contains_observer(
  _ loop: OpaquePointer?, _ observer: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> Bool {
  answer("treadle_loop_contains_observer", false) { () throws(Failure) in
    try contains(.observer, loop, observer, "observer", mode)
  }
}
