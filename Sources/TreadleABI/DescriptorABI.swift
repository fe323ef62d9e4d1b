// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@implementation @_cdecl("treadle_descriptor_create")
public func treadle_descriptor_create(
  _ context: UnsafePointer<treadle_descriptor_context>?, _ out_descriptor: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_descriptor_create") { () throws(Failure) in
    let out = try need(out_descriptor, nil, "out_descriptor")
    let context = try copyStruct(context, "context")
    try check(context)
    out.pointee = pointer(try makeDescriptor(context).handle)
    return Status.ok
  }
}

/// Of what the client says of a new source. One that nobody is told of would be ready again and again.
private func check(_ context: treadle_descriptor_context) throws(Failure) {
  try checkEvents(context.events, allowsNone: false)
  if context.flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
  if context.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
  if context.fd < 0 && context.get_fd == nil { throw Failure(Status.argument, "fd", "is negative") }
  if context.ready == nil && context.ready_routine == nil { throw Failure(Status.argument, "ready", "is NULL") }
}

func checkEvents(_ events: UInt32, allowsNone: Bool) throws(Failure) {
  if events & ~3 != 0 { throw Failure(Status.argument, "events", "has bits that cannot be watched for") }
  if events == 0 && !allowsNone { throw Failure(Status.argument, "events", "is empty") }
}

private func makeDescriptor(_ context: treadle_descriptor_context) throws(Failure) -> Item {
  let code = unsafeBitCast(context.ready, to: UnsafeMutableRawPointer?.self)
  let isAcknowledged = context.flags & 1 != 0
  let isPlain =
    context.retain == nil && context.release == nil && context.describe == nil && context.equal == nil
    && context.get_fd == nil && context.ready_routine == nil
  if isPlain {
    return try Item.descriptor(
      code: code, info: context.info, number: context.fd, events: context.events, isAcknowledged: isAcknowledged)
  }
  let ready = try mainCallback(hasPlain: context.ready != nil, context.ready_routine, "ready_routine")
  do throws(Failure) {
    var options = ItemOptions(
      retain: context.retain, release: context.release, describe: context.describe, order: 0, main: ready)
    if context.equal != nil {
      options.setIdentity(equal: context.equal, hash: context.hash?(context.info) ?? 0)
    }
    options.setGetDescriptor(context.get_fd)
    return try Item.descriptor(
      code: code, info: context.info, options: options, number: context.fd, events: context.events,
      isAcknowledged: isAcknowledged)
  } catch {
    drop(ready)
    throw error
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_descriptor_watch")
public func treadle_descriptor_watch(
  _ fd: Int32, _ events: UInt32, _ ready: treadle_ready_fn?, _ info: UnsafeMutableRawPointer?,
  _ release: treadle_release_fn?, _ out_descriptor: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_descriptor_watch") { () throws(Failure) in
    out_descriptor?.pointee = nil
    do throws(Failure) {
      var context = treadle_descriptor_context()
      context.info = info
      context.release = release
      context.ready = ready
      context.fd = fd
      context.events = events
      try check(context)
      let loop = try Loop.current()
      return try addToDefault(try makeDescriptor(context), of: loop, out_descriptor)
    } catch {
      release?(info)
      throw error
    }
  }
}

@implementation @_cdecl("treadle_descriptor_set_events")
public func treadle_descriptor_set_events(_ descriptor: OpaquePointer?, _ events: UInt32) -> treadle_status {
  status("treadle_descriptor_set_events") { () throws(Failure) in
    try Item.holding(.descriptor, bits(descriptor), "descriptor") { item throws(Failure) in
      try checkEvents(events, allowsNone: true)
      try item.setWatchedEvents(events)
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_descriptor_get_events")
public func treadle_descriptor_get_events(
  _ descriptor: OpaquePointer?, _ out_events: UnsafeMutablePointer<UInt32>?
) -> treadle_status {
  status("treadle_descriptor_get_events") { () throws(Failure) in
    let out = try need(out_events, 0, "out_events")
    out.pointee = try Item.holding(.descriptor, bits(descriptor), "descriptor") { $0.watchedEvents }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_descriptor_get_fd")
public func treadle_descriptor_get_fd(
  _ descriptor: OpaquePointer?, _ out_fd: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_descriptor_get_fd") { () throws(Failure) in
    let out = try need(out_fd, 0, "out_fd")
    out.pointee = try Item.holding(.descriptor, bits(descriptor), "descriptor") { $0.watchedNumber }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_descriptor_retain")
public func treadle_descriptor_retain(_ descriptor: OpaquePointer?) -> treadle_status {
  status("treadle_descriptor_retain") { () throws(Failure) in try retain(.descriptor, descriptor, "descriptor") }
}

@implementation @_cdecl("treadle_descriptor_release")
public func treadle_descriptor_release(_ descriptor: OpaquePointer?) -> treadle_status {
  status("treadle_descriptor_release") { () throws(Failure) in try release(.descriptor, descriptor, "descriptor") }
}

@implementation @_cdecl("treadle_descriptor_invalidate")
public func treadle_descriptor_invalidate(_ descriptor: OpaquePointer?) -> treadle_status {
  status("treadle_descriptor_invalidate") { () throws(Failure) in
    try Item.invalidate(.descriptor, bits(descriptor), "descriptor")
    return Status.ok
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_descriptor_discard")
public func treadle_descriptor_discard(_ descriptor: OpaquePointer?) -> treadle_status {
  status("treadle_descriptor_discard") { () throws(Failure) in try discard(.descriptor, descriptor, "descriptor") }
}

@implementation @_cdecl("treadle_descriptor_close")
public func treadle_descriptor_close(_ descriptor: OpaquePointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_descriptor_close") { () throws(Failure) in try close(.descriptor, descriptor, timeout_ns, "descriptor") }
}

@implementation @_cdecl("treadle_descriptor_is_valid")
public func treadle_descriptor_is_valid(_ descriptor: OpaquePointer?) -> Bool {
  answer("treadle_descriptor_is_valid", false) { () throws(Failure) in
    try Item.isValid(.descriptor, bits(descriptor), "descriptor")
  }
}

@implementation @_cdecl("treadle_descriptor_get_info")
public func treadle_descriptor_get_info(
  _ descriptor: OpaquePointer?, _ out_info: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> treadle_status {
  status("treadle_descriptor_get_info") { () throws(Failure) in
    try info(.descriptor, descriptor, "descriptor", out_info)
  }
}

@implementation @_cdecl("treadle_descriptor_describe")
public func treadle_descriptor_describe(
  _ descriptor: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_descriptor_describe") { () throws(Failure) in
    try describe(.descriptor, descriptor, "descriptor", buffer, capacity, out_length)
  }
}

@implementation @_cdecl("treadle_loop_add_descriptor")
public func treadle_loop_add_descriptor(
  _ loop: OpaquePointer?, _ descriptor: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_loop_add_descriptor") { () throws(Failure) in
    try add(.descriptor, loop, descriptor, "descriptor", mode)
  }
}

@implementation @_cdecl("treadle_loop_remove_descriptor")
public func treadle_loop_remove_descriptor(
  _ loop: OpaquePointer?, _ descriptor: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_loop_remove_descriptor") { () throws(Failure) in
    try remove(.descriptor, loop, descriptor, "descriptor", mode)
  }
}

@implementation @_cdecl("treadle_loop_contains_descriptor")
public func treadle_loop_contains_descriptor(
  _ loop: OpaquePointer?, _ descriptor: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> Bool {
  answer("treadle_loop_contains_descriptor", false) { () throws(Failure) in
    try contains(.descriptor, loop, descriptor, "descriptor", mode)
  }
}
