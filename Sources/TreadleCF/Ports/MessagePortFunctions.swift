// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

func messagePorts<Result>(
  _ port: UInt, _ function: StaticString, _ fallback: Result, _ work: (Pointer<PortBody>) -> Result
) -> Result {
  ports(port, .messagePort, function, fallback, work)
}

@_cdecl("CFMessagePortIsRemote")
public func cfMessagePortIsRemote(_ port: UInt) -> UInt8 {
  messagePorts(port, "CFMessagePortIsRemote", 0) { $0.pointee.isRemote ? 1 : 0 }
}

@_cdecl("CFMessagePortGetName")
public func cfMessagePortGetName(_ port: UInt) -> UInt {
  messagePorts(port, "CFMessagePortGetName", 0) { body in lockingPorts { body.pointee.name } }
}

@_cdecl("CFMessagePortSetName")
public func cfMessagePortSetName(_ port: UInt, _ name: UInt) -> UInt8 {
  messagePorts(port, "CFMessagePortSetName", 0) { body in
    withPortName(name, "CFMessagePortSetName", 0) { name in
      let status = treadle_message_port_set_name(body.pointee.handle, name)
      if status == 0 { renamePort(body) }
      if status != TREADLE_E_EXISTS { check(status, "CFMessagePortSetName") }
      return status >= 0 ? 1 : 0
    }
  }
}

@_cdecl("CFMessagePortGetContext")
public func cfMessagePortGetContext(_ port: UInt, _ context: UnsafeMutablePointer<treadle_cf_context>?) {
  storePortContext(port, .messagePort, context, "CFMessagePortGetContext")
}

@_cdecl("CFMessagePortInvalidate")
public func cfMessagePortInvalidate(_ port: UInt) {
  messagePorts(port, "CFMessagePortInvalidate", ()) { invalidatePort(port, $0, "CFMessagePortInvalidate") }
}

@_cdecl("CFMessagePortIsValid")
public func cfMessagePortIsValid(_ port: UInt) -> UInt8 {
  messagePorts(port, "CFMessagePortIsValid", 0) { body in
    if !treadle_is_valid(body.pointee.item) { return 0 }
    return !body.pointee.isRemote || treadle_message_port_check(body.pointee.handle) >= 0 ? 1 : 0
  }
}

@_cdecl("CFMessagePortGetInvalidationCallBack")
public func cfMessagePortGetInvalidationCallBack(_ port: UInt) -> treadle_cf_invalidated_fn? {
  messagePorts(port, "CFMessagePortGetInvalidationCallBack", nil) { body in lockingPorts { body.pointee.invalidated } }
}

@_cdecl("CFMessagePortSetInvalidationCallBack")
public func cfMessagePortSetInvalidationCallBack(_ port: UInt, _ invalidated: treadle_cf_invalidated_fn?) {
  messagePorts(port, "CFMessagePortSetInvalidationCallBack", ()) { body in
    let hasEnded = lockingPorts {
      body.pointee.invalidated = invalidated
      return body.pointee.hasEnded
    }
    guard let invalidated else { return }
    if hasEnded { return invalidated(port, 0) }
    if body.pointee.isRemote { RemotePorts.watch(body.pointee.item, "CFMessagePortSetInvalidationCallBack") }
  }
}

@_cdecl("CFMessagePortCreateRunLoopSource")
public func cfMessagePortCreateRunLoopSource(_ allocator: UInt, _ port: UInt, _ order: Int) -> UInt {
  makePortSource(port, .messagePort, order, "CFMessagePortCreateRunLoopSource")
}

/// Treadle has ended a message port.
func messagePortEnded(_ handle: OpaquePointer?, _ info: UnsafeMutableRawPointer?) {
  // A remote port whose last reference is being released has no object any more, and tells nobody.
  guard let slot = Slot.hold(UInt(bitPattern: info), .messagePort) else { return }
  if let body = slot.pointer.pointee.body { endPort(slot.reference, body.assumingMemoryBound(to: PortBody.self)) }
  slot.drop()
}

// MARK: Receiving

private let callback: StaticString = "CFMessagePortCallBack"

/// A message has come to a local port.
func receiveMessage(
  _ handle: OpaquePointer?, _ message: UnsafePointer<treadle_message_port_message>?, _ info: UnsafeMutableRawPointer?
) {
  let port = UInt(bitPattern: info)
  messagePorts(port, callback, ()) { body in
    guard let message = message?.pointee else { return }
    let bytes = message.data?.assumingMemoryBound(to: UInt8.self)
    let data = cfDataCreateWithBytesNoCopy(0, bytes, message.size, Constants.nullAllocator)
    if data == 0 { return }
    var reply: UInt = 0
    callingPort(body) { info in reply = body.pointee.messageCallout?(port, message.id, data, info) ?? 0 }
    forgetBytes(data)
    cfRelease(data)
    if reply == 0 { return }
    access(reply, callback, ()) { (reply: Pointer<DataBody>) in
      check(treadle_message_port_reply(message.call, reply.pointee.bytes, reply.pointee.count), callback)
    }
    cfRelease(reply)
  }
}

/// The bytes go with the message: who keeps the data object has an empty one.
private func forgetBytes(_ data: UInt) {
  access(data, callback, ()) { (data: Pointer<DataBody>) in
    data.pointee.count = 0
    data.pointee.capacity = 0
    data.pointee.bytes = nil
  }
}
