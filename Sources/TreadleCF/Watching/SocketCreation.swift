// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

@_cdecl("CFSocketGetTypeID") public func cfSocketGetTypeID() -> UInt { Kind.socket.typeID }

@_cdecl("CFSocketCreateWithNative")
public func cfSocketCreateWithNative(
  _ allocator: UInt, _ fd: Int32, _ kinds: UInt, _ callout: treadle_cf_socket_fn?,
  _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  if treadle_cf_is_open(fd) < 0 {
    complain("CFSocketCreateWithNative")
    return 0
  }
  let known = lockingSockets { SocketTable.find(fd) }
  if known != 0, cfSocketIsValid(known) != 0 { return cfRetain(known) }
  let socket = make(fd, kinds, callout, context)
  // Whoever has a descriptor that connects already, and wants to be told, may connect without us.
  if socket != 0, kinds & WatchBody.Kinds.connect != 0, treadle_cf_is_in_use(fd) == 0 {
    watches(socket, .socket, "CFSocketCreateWithNative", ()) { body in lockingSockets { body.pointee.isConnecting = true } }
  }
  return socket
}

@_cdecl("CFSocketCreate")
public func cfSocketCreate(
  _ allocator: UInt, _ family: Int32, _ type: Int32, _ protocol: Int32, _ kinds: UInt, _ callout: treadle_cf_socket_fn?,
  _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  let fd = treadle_cf_socket(family, type, `protocol`)
  if fd < 0 {
    complain("CFSocketCreate")
    return 0
  }
  let socket = make(fd, kinds, callout, context)
  if socket == 0 {
    _ = treadle_cf_close(fd)
    return 0
  }
  watches(socket, .socket, "CFSocketCreate", ()) { body in
    lockingSockets { body.pointee.isFresh = treadle_cf_is_stream(fd) != 0 }
  }
  return socket
}

private func make(
  _ fd: Int32, _ kinds: UInt, _ callout: treadle_cf_socket_fn?, _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  var body = WatchBody(socket: fd, client: ClientContext(context))
  body.socketCallout = callout
  body.kinds = kinds & 15
  body.enabled = body.kinds
  body.flags = body.kinds & 3 | WatchBody.closeOnInvalidate
  if body.kinds & 3 == WatchBody.Kinds.accept { _ = treadle_cf_set_nonblocking(fd, true) }
  let socket = begin(.socket, body, "CFSocketCreate")
  if socket == 0 || lockingSockets({ SocketTable.remember(fd, socket) }) { return socket }
  // The descriptor stays the caller's.
  cfSocketSetSocketFlags(socket, 0)
  cfRelease(socket)
  return 0
}

@_cdecl("CFSocketCreateWithSocketSignature")
public func cfSocketCreateWithSocketSignature(
  _ allocator: UInt, _ signature: UnsafePointer<treadle_cf_signature>?, _ kinds: UInt, _ callout: treadle_cf_socket_fn?,
  _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  make(signature, kinds, callout, context, "CFSocketCreateWithSocketSignature") { cfSocketSetAddress($0, $1) == 0 }
}

@_cdecl("CFSocketCreateConnectedToSocketSignature")
public func cfSocketCreateConnectedToSocketSignature(
  _ allocator: UInt, _ signature: UnsafePointer<treadle_cf_signature>?, _ kinds: UInt, _ callout: treadle_cf_socket_fn?,
  _ context: UnsafePointer<treadle_cf_context>?, _ timeout: Double
) -> UInt {
  make(signature, kinds, callout, context, "CFSocketCreateConnectedToSocketSignature") {
    cfSocketConnectToAddress($0, $1, timeout) == 0
  }
}

private func make(
  _ signature: UnsafePointer<treadle_cf_signature>?, _ kinds: UInt, _ callout: treadle_cf_socket_fn?,
  _ context: UnsafePointer<treadle_cf_context>?, _ function: StaticString, _ prepare: (UInt, UInt) -> Bool
) -> UInt {
  guard let signature else {
    complain(function)
    return 0
  }
  let (family, type, number) = (signature.pointee.family, signature.pointee.type, signature.pointee.protocol)
  let socket = cfSocketCreate(0, family, type, number, kinds, callout, context)
  if socket == 0 || prepare(socket, signature.pointee.address) { return socket }
  cfSocketInvalidate(socket)
  cfRelease(socket)
  return 0
}
