// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// Treadle saw a socket ready: the connection, then the reading kind, then writing; no more once the socket
/// became invalid in between, or the connection failed (SOCK-6).
func readySocket(_ handle: OpaquePointer?, _ events: UInt32, _ info: UnsafeMutableRawPointer?) {
  let socket = sources(UInt(bitPattern: info), "CFSocketCallBack", 0) { $0.pointee.client.info }
  sockets(socket, "CFSocketCallBack", ()) { body in
    let broken = events & (UInt32(TREADLE_HANGUP) | UInt32(TREADLE_FAILED)) != 0
    if lockingSockets({ body.pointee.isValid && body.pointee.isConnecting }) {
      if !finishConnecting(socket, body) { return }
    }
    if broken || events & UInt32(TREADLE_READABLE) != 0 {
      let kind = take(body, 3, reenabledBy: 3)
      switch kind {
      case WatchBody.Kinds.read: call(socket, body, kind, 0, nil)
      case WatchBody.Kinds.accept: accept(socket, body)
      case WatchBody.Kinds.data: receive(socket, body)
      default: break
      }
    }
    if broken || events & UInt32(TREADLE_WRITABLE) != 0 {
      let kind = take(body, WatchBody.Kinds.write, reenabledBy: WatchBody.Kinds.write)
      if kind != 0 { call(socket, body, kind, 0, nil) }
    }
  }
}

private func call(_ socket: UInt, _ body: Pointer<WatchBody>, _ kind: UInt, _ address: UInt, _ data: UnsafeRawPointer?) {
  callingOut(body) { info in body.pointee.socketCallout?(socket, kind, address, data, info) }
}

/// The enabled one of some kinds, which is disabled now unless its flag says otherwise; 0 for none.
private func take(_ body: Pointer<WatchBody>, _ kinds: UInt, reenabledBy flags: UInt) -> UInt {
  var kind: UInt = 0, isOver = false
  lockingSockets {
    kind = body.pointee.isValid && !body.pointee.isFresh && !body.pointee.isConnecting ? body.pointee.enabled & kinds : 0
    isOver = kind != 0 && body.pointee.flags & flags == 0
  }
  if isOver { changing(body, "CFSocketCallBack") { body.pointee.enabled &= ~kinds } }
  return kind
}

/// Tells how a connection in the background ended; whether it succeeded and the socket is still valid.
private func finishConnecting(_ socket: UInt, _ body: Pointer<WatchBody>) -> Bool {
  let fd = body.pointee.fd
  let status = body.pointee.connectError != 0 ? body.pointee.connectError : treadle_cf_error(fd)
  var tells = false
  changing(body, "CFSocketCallBack") {
    body.pointee.isConnecting = false
    body.pointee.connectError = 0
    // What failed is as it was before: the kernel would call it hung up in every pass.
    body.pointee.isFresh = status != 0
    if body.pointee.restoresBlocking { _ = treadle_cf_set_nonblocking(fd, false) }
    body.pointee.restoresBlocking = false
    tells = body.pointee.enabled & WatchBody.Kinds.connect != 0
    // Once for a socket (SOCK-2).
    body.pointee.kinds &= ~WatchBody.Kinds.connect
    body.pointee.enabled &= ~WatchBody.Kinds.connect
  }
  if tells {
    var error = Int32(0) &- status
    withUnsafePointer(to: &error) {
      call(socket, body, WatchBody.Kinds.connect, 0, status == 0 ? nil : UnsafeRawPointer($0))
    }
  }
  return status == 0 && lockingSockets { body.pointee.isValid }
}

private func accept(_ socket: UInt, _ body: Pointer<WatchBody>) {
  var address = treadle_cf_address()
  var made = treadle_cf_accept(body.pointee.fd, &address)
  // Somebody else may have taken it, or it is gone already.
  if made < 0 { return }
  let peer = dataOf(address)
  withUnsafePointer(to: &made) { call(socket, body, WatchBody.Kinds.accept, peer, UnsafeRawPointer($0)) }
  if peer != 0 { cfRelease(peer) }
}

private func receive(_ socket: UInt, _ body: Pointer<WatchBody>) {
  let room = 65536
  guard let memory = treadle_cf_allocate(room) else { return }
  defer { treadle_cf_free(memory) }
  var address = treadle_cf_address()
  let size = treadle_cf_receive(body.pointee.fd, memory, room, &address)
  if size == Int64(treadle_cf_again()) { return }
  let isStream = treadle_cf_is_stream(body.pointee.fd) != 0
  // A datagram that could not be received, an echo of one sent to nobody, is none of the client's.
  if size < 0 && !isStream { return }
  let data = DataBody.make(memory.assumingMemoryBound(to: UInt8.self), max(Int(size), 0), mutable: false)
  if data == 0 { return }
  var peer = address.size > 0 ? dataOf(address) : 0
  if peer == 0, treadle_cf_name(body.pointee.fd, true, &address) >= 0 { peer = dataOf(address) }
  call(socket, body, WatchBody.Kinds.data, peer, UnsafeRawPointer(bitPattern: data))
  cfRelease(data)
  if peer != 0 { cfRelease(peer) }
  // The end, or an error, of a stream is its last callback (SOCK-5).
  if size <= 0 && isStream { invalidate(body, "CFSocketCallBack") }
}
