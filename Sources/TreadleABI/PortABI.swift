// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_port_create")
public func treadle_port_create(
  _ context: UnsafePointer<treadle_port_context>?, _ out_port: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_port_create") { () throws(Failure) in
    let out = try need(out_port, nil, "out_port")
    let context = try ClientStruct.copy(context, "context")
    if context.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
    if context.capacity > 0xFF_FFFF { throw Failure(Status.range, "capacity", "is more than 16,777,215") }
    out.pointee = pointer(
      try Scope.making(in: bits(context.scope)) { () throws(Failure) in try makePort(context).handle })
    return Status.ok
  }
}

private func makePort(_ context: treadle_port_context) throws(Failure) -> Item {
  let host = try hostOf(context.host, context.token)
  var made = try Context(
    host, context.token, info: context.info, retain: context.retain, release: context.release,
    describe: context.describe,
    order: 0, label: context.label, main: (context.receive != nil, context.receive_routine), "receive",
    "receive_routine")
  return try made.making { made throws(Failure) in
    try Item.port(
      code: unsafeBitCast(context.receive, to: UnsafeMutableRawPointer?.self), info: context.info, context: made,
      capacity: context.capacity == 0 ? 1024 : context.capacity)
  }
}

// MARK: Sending

@_optimize(speed)
@implementation @_cdecl("treadle_port_send_bytes")
public func treadle_port_send_bytes(
  _ port: OpaquePointer?, _ id: UInt32, _ bytes: UnsafeRawPointer?, _ length: Int, _ timeout_ns: Int64
) -> treadle_status {
  status("treadle_port_send_bytes") { () throws(Failure) in
    if bytes == nil && length != 0 { throw Failure(Status.argument, "bytes", "is NULL, but length is not 0") }
    try Item.send(to: port, timeout: timeout_ns) { () throws(Failure) in
      try demandLength(length, "length")
      return try Message.make(id, bytes: bytes, length: length)
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_port_send")
public func treadle_port_send(
  _ port: OpaquePointer?, _ content: UnsafePointer<treadle_message_content>?, _ timeout_ns: Int64
) -> treadle_status {
  status("treadle_port_send") { () throws(Failure) in
    let content = try ClientStruct.copy(content, "content")
    if content.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
    if content.component_count < 0 || content.component_count > Message.mostParts {
      throw Failure(Status.range, "component_count", "is more than 65,535")
    }
    if content.components == nil && content.component_count != 0 {
      throw Failure(Status.argument, "components", "is NULL")
    }
    try Item.send(to: port, timeout: timeout_ns) { () throws(Failure) in
      try Message.make(content.id, reply: bits(content.reply_port), count: content.component_count) {
        index throws(Failure) in
        guard let components = content.components else { throw Failure(Status.argument, "components", "is NULL") }
        return try part(components[index])
      }
    }
    return Status.ok
  }
}

private func part(_ component: treadle_component) throws(Failure) -> Message.Part {
  var part = Message.Part(kind: component.kind)
  switch component.kind {
  case Message.PartKind.bytes:
    if component.bytes == nil && component.length != 0 {
      throw Failure(Status.argument, "components[].bytes", "is NULL, but its length is not 0")
    }
    try demandLength(component.length, "components[].length")
    part.bytes = component.bytes
    part.length = component.length
  case Message.PartKind.port: part.port = bits(component.port)
  case Message.PartKind.descriptor: part.descriptor = component.descriptor
  default: throw Failure(Status.argument, "components[].kind", "is unknown")
  }
  return part
}

/// A size of C may be more than Swift's integers count.
private func demandLength(_ length: Int, _ subject: StaticString) throws(Failure) {
  if length < 0 { throw Failure(Status.noMemory, subject, "is larger than memory") }
}

@implementation @_cdecl("treadle_port_get_count")
public func treadle_port_get_count(
  _ port: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?, _ out_capacity: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_port_get_count") { () throws(Failure) in
    out_capacity?.pointee = 0
    let count = try need(out_count, 0, "out_count")
    let capacity = try need(out_capacity, 0, "out_capacity")
    try Item.holding(.port, bits(port), "port") { port throws(Failure) in
      count.pointee = port.messageCount
      capacity.pointee = port.messageCapacity
    }
    return Status.ok
  }
}

// MARK: Messages

@_optimize(speed)
@implementation @_cdecl("treadle_message_get_info")
public func treadle_message_get_info(
  _ message: OpaquePointer?, _ out_info: UnsafeMutablePointer<treadle_message_info>?
) -> treadle_status {
  status("treadle_message_get_info") { () throws(Failure) in
    _ = try ClientStruct.copy(UnsafePointer(out_info), "out_info")
    var info = treadle_message_info()
    defer { if let out_info { ClientStruct.store(info, to: out_info) } }
    try holding(message) { message throws(Failure) in
      info.id = message.id
      info.component_count = UInt32(truncatingIfNeeded: message.count)
      info.port = OpaquePointer(bitPattern: message.port)
      info.reply_port = OpaquePointer(bitPattern: message.reply)
      if let first = message.part(0) {
        info.bytes = first.bytes
        info.length = first.length
      }
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_message_get_component")
public func treadle_message_get_component(
  _ message: OpaquePointer?, _ index: Int, _ out_component: UnsafeMutablePointer<treadle_component>?
) -> treadle_status {
  status("treadle_message_get_component") { () throws(Failure) in
    let out = try need(out_component, treadle_component(), "out_component")
    try holding(message) { message throws(Failure) in
      guard let part = message.part(index) else { throw noComponent }
      out.pointee = treadle_component(
        kind: part.kind, descriptor: part.descriptor, bytes: part.bytes, length: part.length,
        port: OpaquePointer(bitPattern: part.port))
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_message_take_descriptor")
public func treadle_message_take_descriptor(
  _ message: OpaquePointer?, _ index: Int, _ out_descriptor: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_message_take_descriptor") { () throws(Failure) in
    let out = try need(out_descriptor, 0, "out_descriptor")
    try holding(message) { message throws(Failure) in
      if message.part(index) == nil { throw noComponent }
      let descriptor = message.takeDescriptor(index)
      if descriptor < 0 {
        throw Failure(Status.notFound, "index", "is not that of a descriptor, or it was taken out already")
      }
      out.pointee = descriptor
    }
    return Status.ok
  }
}

private var noComponent: Failure { Failure(Status.range, "index", "is not that of a component") }

@inline(__always)
private func holding(_ message: OpaquePointer?, _ body: (Message) throws(Failure) -> Void) throws(Failure) {
  if let received = Message.received(bits(message)) { return try body(received) }
  let message = try Message.hold(bits(message))
  defer { message.drop() }
  try body(message)
}
