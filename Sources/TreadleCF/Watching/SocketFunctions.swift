// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

func sockets<Result>(
  _ socket: UInt, _ function: StaticString, _ fallback: Result, _ work: (Pointer<WatchBody>) -> Result
) -> Result {
  watches(socket, .socket, function, fallback, work)
}

/// Whether so many bytes may be an address: at least its family.
private func mayBeAddress(_ data: Pointer<DataBody>) -> Bool { data.pointee.count > 2 && data.pointee.count <= 4096 }

/// Calls `work` with a valid socket's descriptor and an address's bytes.
private func withAddress(
  _ socket: UInt, _ address: UInt, _ function: StaticString,
  _ work: (Pointer<WatchBody>, Int32, UnsafeMutablePointer<UInt8>, UInt32) -> Int
) -> Int {
  sockets(socket, function, -1) { body in
    access(address, function, -1) { (data: Pointer<DataBody>) in
      guard lockingSockets({ body.pointee.isValid }), let bytes = data.pointee.bytes, mayBeAddress(data) else {
        complain(function)
        return -1
      }
      return work(body, body.pointee.fd, bytes, UInt32(data.pointee.count))
    }
  }
}

@_cdecl("CFSocketSetAddress")
public func cfSocketSetAddress(_ socket: UInt, _ address: UInt) -> Int {
  withAddress(socket, address, "CFSocketSetAddress") { body, fd, bytes, size in
    if treadle_cf_listen(fd, bytes, size) < 0 { return -1 }
    return changing(body, "CFSocketSetAddress") {} < 0 ? -1 : 0
  }
}

@_cdecl("CFSocketConnectToAddress")
public func cfSocketConnectToAddress(_ socket: UInt, _ address: UInt, _ timeout: Double) -> Int {
  withAddress(socket, address, "CFSocketConnectToAddress") { body, fd, bytes, size in
    let wasNonblocking = treadle_cf_set_nonblocking(fd, true) != 0
    var status = treadle_cf_connect(fd, bytes, size)
    let hasBegun = status == treadle_cf_in_progress()
    if hasBegun && timeout >= 0 {
      status = treadle_cf_await_writable(fd, timeout)
      if status == 0 { status = treadle_cf_error(fd) }
    }
    if !wasNonblocking { _ = treadle_cf_set_nonblocking(fd, false) }
    let isUnderWay = hasBegun && (timeout < 0 || status == treadle_cf_timed_out())
    let watching = changing(body, "CFSocketConnectToAddress") {
      if status == 0 || isUnderWay {
        body.pointee.isFresh = false
      } else if hasBegun {
        body.pointee.isFresh = body.pointee.isOurs
      }
    }
    if status == 0 || isUnderWay && timeout < 0 { return watching < 0 ? -1 : 0 }
    return isUnderWay ? -2 : -1
  }
}

@_cdecl("CFSocketInvalidate")
public func cfSocketInvalidate(_ socket: UInt) {
  sockets(socket, "CFSocketInvalidate", ()) { invalidate($0, "CFSocketInvalidate") }
}

@_cdecl("CFSocketIsValid")
public func cfSocketIsValid(_ socket: UInt) -> UInt8 {
  sockets(socket, "CFSocketIsValid", 0) { body in lockingSockets { body.pointee.isValid } ? 1 : 0 }
}

@_cdecl("CFSocketCopyAddress")
public func cfSocketCopyAddress(_ socket: UInt) -> UInt { copyAddress(socket, peer: false, "CFSocketCopyAddress") }

@_cdecl("CFSocketCopyPeerAddress")
public func cfSocketCopyPeerAddress(_ socket: UInt) -> UInt {
  copyAddress(socket, peer: true, "CFSocketCopyPeerAddress")
}

private func copyAddress(_ socket: UInt, peer: Bool, _ function: StaticString) -> UInt {
  sockets(socket, function, 0) { body in
    var address = treadle_cf_address()
    guard lockingSockets({ body.pointee.isValid }), treadle_cf_name(body.pointee.fd, peer, &address) >= 0 else {
      return 0
    }
    return dataOf(address)
  }
}

/// An address as data, which the caller owns.
func dataOf(_ address: treadle_cf_address) -> UInt {
  withUnsafeBytes(of: address.bytes) {
    DataBody.make($0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int(address.size), mutable: false)
  }
}

@_cdecl("CFSocketGetContext")
public func cfSocketGetContext(_ socket: UInt, _ context: UnsafeMutablePointer<treadle_cf_context>?) {
  sockets(socket, "CFSocketGetContext", ()) { body in
    guard let context else { return complain("CFSocketGetContext") }
    let isValid = lockingSockets { body.pointee.isValid }
    (isValid ? body.pointee.client : ClientContext(nil)).store(context, hasInfo: isValid)
  }
}

@_cdecl("CFSocketGetNative")
public func cfSocketGetNative(_ socket: UInt) -> Int32 {
  sockets(socket, "CFSocketGetNative", -1) { body in lockingSockets { body.pointee.isValid ? body.pointee.fd : -1 } }
}

@_cdecl("CFSocketCreateRunLoopSource")
public func cfSocketCreateRunLoopSource(_ allocator: UInt, _ socket: UInt, _ order: Int) -> UInt {
  makeWatchSource(socket, .socket, order, "CFSocketCreateRunLoopSource")
}

@_cdecl("CFSocketGetSocketFlags")
public func cfSocketGetSocketFlags(_ socket: UInt) -> UInt {
  sockets(socket, "CFSocketGetSocketFlags", 0) { body in lockingSockets { body.pointee.flags } }
}

@_cdecl("CFSocketSetSocketFlags")
public func cfSocketSetSocketFlags(_ socket: UInt, _ flags: UInt) {
  sockets(socket, "CFSocketSetSocketFlags", ()) { body in lockingSockets { body.pointee.flags = flags & 0xFF } }
}

/// Both act while the source is in a mode: coming into the first one enables every kind.
@_cdecl("CFSocketDisableCallBacks")
public func cfSocketDisableCallBacks(_ socket: UInt, _ kinds: UInt) {
  sockets(socket, "CFSocketDisableCallBacks", ()) { body in
    changing(body, "CFSocketDisableCallBacks") {
      if !body.pointee.isScheduled { return }
      let meant = body.pointee.meant(kinds)
      body.pointee.disabled |= meant
      body.pointee.armed &= ~meant
    }
  }
}

@_cdecl("CFSocketEnableCallBacks")
public func cfSocketEnableCallBacks(_ socket: UInt, _ kinds: UInt) {
  sockets(socket, "CFSocketEnableCallBacks", ()) { body in
    changing(body, "CFSocketEnableCallBacks") {
      if !body.pointee.isScheduled { return }
      let meant = body.pointee.meant(kinds)
      body.pointee.disabled &= ~meant
      body.pointee.arm(meant)
    }
  }
}

@_cdecl("CFSocketSendData")
public func cfSocketSendData(_ socket: UInt, _ address: UInt, _ data: UInt, _ timeout: Double) -> Int {
  sockets(socket, "CFSocketSendData", -1) { body in
    access(data, "CFSocketSendData", -1) { (data: Pointer<DataBody>) in
      guard lockingSockets({ body.pointee.isValid }) else {
        complain("CFSocketSendData")
        return -1
      }
      let fd = body.pointee.fd
      func send(_ to: UnsafeMutablePointer<UInt8>?, _ size: Int) -> Int {
        let status = treadle_cf_send(fd, data.pointee.bytes, data.pointee.count, to, UInt32(clamping: size), timeout)
        // No data is no success, though it may be a datagram.
        return status == 0 && data.pointee.count > 0 ? 0 : status == treadle_cf_timed_out() ? -2 : -1
      }
      if address == 0 { return send(nil, 0) }
      return access(address, "CFSocketSendData", -1) { (to: Pointer<DataBody>) in
        mayBeAddress(to) ? send(to.pointee.bytes, to.pointee.count) : -1
      }
    }
  }
}
