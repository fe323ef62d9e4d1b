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
