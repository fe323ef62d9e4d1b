// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

@_cdecl("CFMessagePortGetTypeID") public func cfMessagePortGetTypeID() -> UInt { Kind.messagePort.typeID }

@_cdecl("CFMessagePortCreateLocal")
public func cfMessagePortCreateLocal(
  _ allocator: UInt, _ name: UInt, _ callout: treadle_cf_message_fn?, _ context: UnsafePointer<treadle_cf_context>?,
  _ shouldFreeInfo: UnsafeMutablePointer<UInt8>?
) -> UInt {
  shouldFreeInfo?.pointee = 1
  var body = PortBody(ClientContext(context), isRemote: false)
  body.messageCallout = callout
  if name == 0 { return makeLocal(nil, body, shouldFreeInfo) }
  return withPortName(name, "CFMessagePortCreateLocal", 0) { makeLocal($0, body, shouldFreeInfo) }
}

/// Calls `work` with a name in UTF-8: not with one that a NUL would cut.
func withPortName<Result>(
  _ name: UInt, _ function: StaticString, _ fallback: Result, _ work: (UnsafePointer<CChar>) -> Result
) -> Result {
  let hasNUL = texts(name, function, true) { text in
    var index = 0
    while index < text.length && text[index] != 0 { index &+= 1 }
    return index < text.length
  }
  if hasNUL {
    complain(function)
    return fallback
  }
  return withText(name, function, fallback, work)
}

private func makeLocal(
  _ name: UnsafePointer<CChar>?, _ body: PortBody, _ shouldFreeInfo: UnsafeMutablePointer<UInt8>?
) -> UInt {
  let function: StaticString = "CFMessagePortCreateLocal"
  let port = Slot.make(.messagePort, allocate(body))
  if port == 0 { return 0 }
  var context = treadle_message_port_context()
  context.struct_size = MemoryLayout<treadle_message_port_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: port)
  context.retain = retainPort
  context.release = releasePort
  context.describe = describeItem
  context.receive = receiveMessage
  context.invalidated = messagePortEnded
  var handle: OpaquePointer?
  let status = treadle_message_port_create_local(name, &context, &handle)
  if status != 0 {
    drop(port)
    if status > 0 { return existingPort(handle) ?? refuse(handle, function) }
    check(status, function)
    return 0
  }
  ports(port, .messagePort, function, ()) { body in
    _ = bindItem(body, handle)
    beginPort(port, body)
    renamePort(body)
  }
  shouldFreeInfo?.pointee = 0
  return port
}

/// The reference of the one who made an object.
private func drop(_ port: UInt) {
  guard let slot = Slot.hold(port) else { return }
  slot.drop()
  slot.drop()
}

/// The object of an item that this process has already, with a reference for the caller, whose reference to the item
/// this takes; nil if the item was not made by these functions, or its object is gone.
private func existingPort(_ handle: OpaquePointer?) -> UInt? {
  var info: UnsafeMutableRawPointer?
  guard treadle_get_context_info(UnsafeMutableRawPointer(handle), &info) >= 0,
    let slot = Slot.hold(UInt(bitPattern: info), .messagePort)
  else { return nil }
  guard let memory = slot.pointer.pointee.body else {
    slot.drop()
    return nil
  }
  let body = memory.assumingMemoryBound(to: PortBody.self)
  // The thread that is creating it may not have come to that yet.
  if !bindItem(body, handle) {
    slot.drop()
    return nil
  }
  if body.pointee.isRemote { _ = treadle_release(UnsafeMutableRawPointer(handle)) }
  return slot.reference
}

/// The name is one of a port that was made in Treadle's own names.
private func refuse(_ handle: OpaquePointer?, _ function: StaticString) -> UInt {
  _ = treadle_release(UnsafeMutableRawPointer(handle))
  complain(function)
  return 0
}

@_cdecl("CFMessagePortCreateRemote")
public func cfMessagePortCreateRemote(_ allocator: UInt, _ name: UInt) -> UInt {
  withPortName(name, "CFMessagePortCreateRemote", 0) { name in
    while true {
      if let port = makeRemote(name) { return port }
    }
  }
}

/// Nil: another thread was just giving up its port of that name. Try again.
private func makeRemote(_ name: UnsafePointer<CChar>) -> UInt? {
  let function: StaticString = "CFMessagePortCreateRemote"
  let port = Slot.make(.messagePort, allocate(PortBody(ClientContext(nil), isRemote: true)))
  if port == 0 { return 0 }
  var context = treadle_message_port_context()
  context.struct_size = MemoryLayout<treadle_message_port_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: port)
  context.invalidated = messagePortEnded
  var handle: OpaquePointer?
  let status = treadle_message_port_create_remote(name, &context, &handle)
  if status < 0 {
    drop(port)
    // That nobody serves a name is an answer, and no mistake.
    if status != TREADLE_E_NOT_FOUND { check(status, function) }
    return 0
  }
  var isForeign = false
  if status > 0 {
    if let known = existingPort(handle) {
      drop(port)
      return known
    }
    var info: UnsafeMutableRawPointer?
    isForeign =
      treadle_get_context_info(UnsafeMutableRawPointer(handle), &info) < 0 || !mayBeObject(UInt(bitPattern: info))
    if !isForeign {
      drop(port)
      _ = treadle_invalidate(UnsafeMutableRawPointer(handle))
      _ = treadle_release(UnsafeMutableRawPointer(handle))
      return nil
    }
  }
  ports(port, .messagePort, function, ()) { body in
    _ = bindItem(body, handle)
    body.pointee.isForeign = isForeign
    renamePort(body)
  }
  return port
}

private func mayBeObject(_ reference: UInt) -> Bool { reference >> 56 == 0xCF && reference & 15 == 0 }

/// Keeps the item's name as a string.
func renamePort(_ body: Pointer<PortBody>) {
  var text = Text()
  text.append { treadle_message_port_get_name(body.pointee.handle, $0, $1, $2) }
  if text.length == 0 { return text.free() }
  let name = stringOf(text)
  let last = lockingPorts {
    let last = body.pointee.name
    body.pointee.name = name
    return last
  }
  if last != 0 { cfRelease(last) }
}
