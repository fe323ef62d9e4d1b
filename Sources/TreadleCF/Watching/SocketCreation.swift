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
  return make(fd, kinds, callout, context, isOurs: false, "CFSocketCreateWithNative")
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
  let socket = make(fd, kinds, callout, context, isOurs: true, "CFSocketCreate")
  if socket == 0 { _ = treadle_cf_close(fd) }
  return socket
}

private func make(
  _ fd: Int32, _ kinds: UInt, _ callout: treadle_cf_socket_fn?, _ context: UnsafePointer<treadle_cf_context>?,
  isOurs: Bool, _ function: StaticString
) -> UInt {
  var body = WatchBody(socket: fd, client: ClientContext(context))
  body.socketCallout = callout
  body.kinds = kinds & 15
  body.flags = kinds & 0xFF & ~(WatchBody.Kinds.connect | WatchBody.Kinds.write) | WatchBody.closeOnInvalidate
  let accepts = kinds & 3 == WatchBody.Kinds.accept
  // Whether it is connected already, is connecting or has failed shows in what the kernel reports (SOCK-12).
  body.owesConnect = kinds & WatchBody.Kinds.connect != 0 && !accepts && treadle_cf_connects(fd) != 0
  body.isOurs = isOurs
  body.isFresh = isOurs && treadle_cf_is_stream(fd) != 0
  if accepts {
    _ = treadle_cf_set_nonblocking(fd, true)
    treadle_cf_keep_reserve()
  }
  let socket = begin(.socket, body, function)
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
