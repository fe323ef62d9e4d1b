// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

@_cdecl("CFFileDescriptorGetTypeID") public func cfFileDescriptorGetTypeID() -> UInt { Kind.fileDescriptor.typeID }

@_cdecl("CFFileDescriptorCreate")
public func cfFileDescriptorCreate(
  _ allocator: UInt, _ fd: Int32, _ closes: UInt8, _ callout: treadle_cf_descriptor_fn?,
  _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  guard let callout, treadle_cf_is_open(fd) >= 0 else {
    complain("CFFileDescriptorCreate")
    return 0
  }
  var body = WatchBody(descriptor: fd, client: ClientContext(context))
  body.descriptorCallout = callout
  body.kinds = 3
  body.flags = closes == 0 ? 0 : WatchBody.closeOnInvalidate
  return begin(.fileDescriptor, body, "CFFileDescriptorCreate")
}

@_cdecl("CFFileDescriptorGetNativeDescriptor")
public func cfFileDescriptorGetNativeDescriptor(_ descriptor: UInt) -> Int32 {
  watches(descriptor, .fileDescriptor, "CFFileDescriptorGetNativeDescriptor", -1) { body in
    lockingSockets { body.pointee.isValid ? body.pointee.fd : -1 }
  }
}

@_cdecl("CFFileDescriptorGetContext")
public func cfFileDescriptorGetContext(_ descriptor: UInt, _ context: UnsafeMutablePointer<treadle_cf_context>?) {
  watches(descriptor, .fileDescriptor, "CFFileDescriptorGetContext", ()) { body in
    guard let context else { return complain("CFFileDescriptorGetContext") }
    body.pointee.client.store(context, hasInfo: lockingSockets { body.pointee.isValid })
  }
}

@_cdecl("CFFileDescriptorEnableCallBacks")
public func cfFileDescriptorEnableCallBacks(_ descriptor: UInt, _ kinds: UInt) {
  watches(descriptor, .fileDescriptor, "CFFileDescriptorEnableCallBacks", ()) { body in
    changing(body, "CFFileDescriptorEnableCallBacks") { body.pointee.arm(kinds & body.pointee.kinds) }
  }
}

@_cdecl("CFFileDescriptorDisableCallBacks")
public func cfFileDescriptorDisableCallBacks(_ descriptor: UInt, _ kinds: UInt) {
  watches(descriptor, .fileDescriptor, "CFFileDescriptorDisableCallBacks", ()) { body in
    changing(body, "CFFileDescriptorDisableCallBacks") { body.pointee.armed &= ~kinds }
  }
}

@_cdecl("CFFileDescriptorInvalidate")
public func cfFileDescriptorInvalidate(_ descriptor: UInt) {
  watches(descriptor, .fileDescriptor, "CFFileDescriptorInvalidate", ()) { invalidate($0, "CFFileDescriptorInvalidate") }
}

@_cdecl("CFFileDescriptorIsValid")
public func cfFileDescriptorIsValid(_ descriptor: UInt) -> UInt8 {
  watches(descriptor, .fileDescriptor, "CFFileDescriptorIsValid", 0) { body in
    lockingSockets { body.pointee.isValid } ? 1 : 0
  }
}

@_cdecl("CFFileDescriptorCreateRunLoopSource")
public func cfFileDescriptorCreateRunLoopSource(_ allocator: UInt, _ descriptor: UInt, _ order: Int) -> UInt {
  makeWatchSource(descriptor, .fileDescriptor, order, "CFFileDescriptorCreateRunLoopSource")
}

/// Treadle saw a descriptor ready: each armed kind is disarmed, then told (FD-2, FD-4, FD-5).
func readyDescriptor(_ handle: OpaquePointer?, _ events: UInt32, _ info: UnsafeMutableRawPointer?) {
  let descriptor = sources(UInt(bitPattern: info), "CFFileDescriptorCallBack", 0) { $0.pointee.client.info }
  watches(descriptor, .fileDescriptor, "CFFileDescriptorCallBack", ()) { body in
    tell(descriptor, body, events, WatchBody.Kinds.read, UInt32(TREADLE_READABLE))
    tell(descriptor, body, events, WatchBody.Kinds.writeOfDescriptor, UInt32(TREADLE_WRITABLE))
  }
}

private func tell(_ descriptor: UInt, _ body: Pointer<WatchBody>, _ events: UInt32, _ kind: UInt, _ event: UInt32) {
  let broken = UInt32(TREADLE_HANGUP) | UInt32(TREADLE_FAILED)
  var isDue = false
  adjusting(body, "CFFileDescriptorCallBack") {
    guard body.pointee.isValid, body.pointee.armed & kind != 0, events & (event | broken) != 0 else { return }
    body.pointee.armed &= ~kind
    isDue = true
  }
  if isDue { callingOut(body) { info in body.pointee.descriptorCallout?(descriptor, kind, info) } }
}
