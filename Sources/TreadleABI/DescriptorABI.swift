// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_descriptor_create")
public func treadle_descriptor_create(
  _ context: UnsafePointer<treadle_descriptor_context>?, _ out_descriptor: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_descriptor_create") { () throws(Failure) in
    let out = try need(out_descriptor, nil, "out_descriptor")
    let context = try ClientStruct.copy(context, "context")
    try check(context)
    out.pointee = pointer(
      try Scope.making(in: bits(context.scope)) { () throws(Failure) in try makeDescriptor(context).handle })
    return Status.ok
  }
}

/// Of what the client says of a new source. One that nobody is told of would be ready again and again.
private func check(_ context: treadle_descriptor_context) throws(Failure) {
  try checkEvents(context.events, allowsNone: false)
  if context.flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
  if context.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
  if context.fd < 0 && context.get_fd == nil { throw Failure(Status.argument, "fd", "is negative") }
  if context.ready != nil || context.ready_routine != nil { return }
  if try hostOf(context.host, context.token) == nil { throw Failure(Status.argument, "ready", "is NULL") }
}

func checkEvents(_ events: UInt32, allowsNone: Bool) throws(Failure) {
  if events & ~3 != 0 { throw Failure(Status.argument, "events", "has conditions that cannot be watched") }
  if events == 0 && !allowsNone { throw Failure(Status.argument, "events", "is empty") }
}

private func makeDescriptor(_ context: treadle_descriptor_context) throws(Failure) -> Item {
  let code = unsafeBitCast(context.ready, to: UnsafeMutableRawPointer?.self)
  let isAcknowledged = context.flags & 1 != 0
  let isPlain =
    context.retain == nil && context.release == nil && context.describe == nil && context.equal == nil
    && context.get_fd == nil && context.ready_routine == nil && context.label == nil
    && context.host == nil && context.token == 0
  if isPlain {
    try Item.demandOpen(context.fd)
    return try Item.descriptor(
      code: code, info: context.info, number: context.fd, events: context.events, isAcknowledged: isAcknowledged)
  }
  let host = try hostOf(context.host, context.token)
  var made = try Context(
    host, context.token, info: context.info, retain: context.retain, release: context.release,
    describe: context.describe, order: 0, label: context.label, main: (context.ready != nil, context.ready_routine),
    "ready", "ready_routine")
  return try made.making { made throws(Failure) in
    if host != nil {
      try refuse(context.equal != nil, "equal")
      try refuse(context.hash != nil, "hash")
      try refuse(context.get_fd != nil, "get_fd")
    }
    made.setIdentity(context.equal, context.hash, context.info)
    made.getDescriptor = context.get_fd
    return try Item.descriptor(
      code: code, info: context.info, context: made, number: context.fd, events: context.events,
      isAcknowledged: isAcknowledged)
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_descriptor_start")
public func treadle_descriptor_start(
  _ fd: Int32, _ events: UInt32, _ ready: treadle_ready_fn?, _ info: UnsafeMutableRawPointer?,
  _ out_descriptor: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_descriptor_start") { () throws(Failure) in
    out_descriptor?.pointee = nil
    try checkEvents(events, allowsNone: false)
    if fd < 0 { throw Failure(Status.argument, "fd", "is negative") }
    guard let code = unsafeBitCast(ready, to: UnsafeMutableRawPointer?.self) else {
      throw Failure(Status.argument, "ready", "is NULL")
    }
    let loop = try Loop.current()
    let item = try Item.descriptor(code: code, info: info, number: fd, events: events, isAcknowledged: false)
    do throws(Failure) {
      return try addToDefault(item, of: loop, out_descriptor)
    } catch {
      // Asked only where the kernel has refused it.
      try Item.demandOpen(fd)
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
