// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

private let function: StaticString = "CFSocketCallBack"

/// Treadle saw a socket ready. The kinds that are due are taken at once, and told in order: Connect, the reading kind,
/// Write; no more once the socket became invalid, or the kind disabled, in between (SOCK-6, SOCK-10). In the end the
/// flags decide which of them wait again.
func readySocket(_ handle: OpaquePointer?, _ events: UInt32, _ info: UnsafeMutableRawPointer?) {
  let socket = sources(UInt(bitPattern: info), function, 0) { $0.pointee.client.info }
  sockets(socket, function, ()) { body in
    let readiness = readiness(of: body, events)
    guard let due = lockingSockets({ take(body, readiness) }) else {
      // Something was reported that nobody waits for any more.
      return adjusting(body, function) {
        body.pointee.isHungUp = readiness & (TREADLE_CF_IS_BROKEN | TREADLE_CF_CAN_WRITE) == TREADLE_CF_IS_BROKEN
      }
    }
    var hasFailed = false
    if due & WatchBody.Kinds.connect != 0 { hasFailed = !tellConnect(socket, body) }
    if may(body, due, 3) {
      switch due & 3 {
      case WatchBody.Kinds.read: call(socket, body, WatchBody.Kinds.read, 0, nil)
      case WatchBody.Kinds.accept: accept(socket, body)
      default: receive(socket, body)
      }
    }
    if !hasFailed, may(body, due, WatchBody.Kinds.write) { call(socket, body, WatchBody.Kinds.write, 0, nil) }
    adjusting(body, function) {
      if !body.pointee.isScheduled { return }
      let again = due & body.pointee.flags & ~WatchBody.Kinds.connect
      body.pointee.armed |= body.pointee.meant(again) & ~body.pointee.disabled
    }
  }
}

/// What can be done, in the terms of select(). Treadle's hang-up means everything: there the kernel is asked again.
private func readiness(of body: Pointer<WatchBody>, _ events: UInt32) -> Int {
  if events & (UInt32(TREADLE_HANGUP) | UInt32(TREADLE_FAILED)) != 0 { return Int(treadle_cf_poll(body.pointee.fd)) }
  return (events & UInt32(TREADLE_READABLE) != 0 ? TREADLE_CF_CAN_READ : 0)
    | (events & UInt32(TREADLE_WRITABLE) != 0 ? TREADLE_CF_CAN_WRITE : 0)
}

/// The kinds that are due, which do not wait any more; nil for none. Under the lock.
private func take(_ body: Pointer<WatchBody>, _ readiness: Int) -> UInt? {
  if !body.pointee.isValid || body.pointee.isFresh { return nil }
  var due: UInt = 0
  if readiness & TREADLE_CF_CAN_READ != 0 { due |= body.pointee.armed & 3 }
  if readiness & TREADLE_CF_CAN_WRITE != 0 {
    if body.pointee.owesConnect { due |= body.pointee.armed & WatchBody.Kinds.connect }
    due |= body.pointee.armed & WatchBody.Kinds.write
  }
  if due == 0 { return nil }
  // Once for a socket, and not after Write (SOCK-2).
  if due & (WatchBody.Kinds.connect | WatchBody.Kinds.write) != 0 { body.pointee.owesConnect = false }
  body.pointee.armed &= ~due
  // What Data and Accept take is gone from the descriptor: the next of it may be told from inside of the call.
  let reads = due & 3
  if reads > WatchBody.Kinds.read, reads & body.pointee.flags & ~body.pointee.disabled != 0 {
    body.pointee.armed |= reads
  }
  return due
}

/// Whether one of some kinds is due still.
private func may(_ body: Pointer<WatchBody>, _ due: UInt, _ kinds: UInt) -> Bool {
  due & kinds != 0
    && lockingSockets { body.pointee.isValid && !body.pointee.isFresh && due & kinds & body.pointee.disabled == 0 }
}

private func call(_ socket: UInt, _ body: Pointer<WatchBody>, _ kind: UInt, _ address: UInt, _ data: UnsafeRawPointer?)
{
  callingOut(body) { info in body.pointee.socketCallout?(socket, kind, address, data, info) }
}

/// Tells how a connection ended; whether it succeeded. Its error is the client's if it wants that (SOCK-12).
private func tellConnect(_ socket: UInt, _ body: Pointer<WatchBody>) -> Bool {
  let leavesErrors = lockingSockets { body.pointee.flags & WatchBody.leaveErrors != 0 }
  var error = leavesErrors ? 0 : 0 &- treadle_cf_error(body.pointee.fd)
  if error == 0 {
    call(socket, body, WatchBody.Kinds.connect, 0, nil)
    return true
  }
  // A socket of ours is as it was before: the kernel would call it hung up in every pass.
  lockingSockets { body.pointee.isFresh = body.pointee.isOurs }
  withUnsafePointer(to: &error) { call(socket, body, WatchBody.Kinds.connect, 0, UnsafeRawPointer($0)) }
  return false
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
  let data = DataBody.make(memory.assumingMemoryBound(to: UInt8.self), max(Int(size), 0), mutable: false)
  if data == 0 { return }
  // Also an error has no bytes, of a datagram the echo of one that was sent to nobody: the client sees it, as a change.
  if address.size == 0, isStream, treadle_cf_name(body.pointee.fd, true, &address) < 0 { address.size = 0 }
  let peer = dataOf(address)
  call(socket, body, WatchBody.Kinds.data, peer, UnsafeRawPointer(bitPattern: data))
  cfRelease(data)
  if peer != 0 { cfRelease(peer) }
  // The end, or an error, of a stream is its last callback (SOCK-5).
  if size <= 0 && isStream { invalidate(body, function) }
}
