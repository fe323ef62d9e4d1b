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
  watches(descriptor, .fileDescriptor, "CFFileDescriptorInvalidate", ()) {
    invalidate($0, "CFFileDescriptorInvalidate")
  }
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

private let function: StaticString = "CFFileDescriptorCallBack"

/// Treadle saw a descriptor ready: each armed kind is disarmed, then told (FD-2, FD-4). A descriptor that hung up or
/// failed is ready for both (FD-5); one whose peer only closed its own direction, which Treadle calls hung up too, is
/// not.
func readyDescriptor(_ handle: OpaquePointer?, _ events: UInt32, _ info: UnsafeMutableRawPointer?) {
  let descriptor = sources(UInt(bitPattern: info), function, 0) { $0.pointee.client.info }
  watches(descriptor, .fileDescriptor, function, ()) { body in
    // A kind that the first call arms is not told from what was seen before that call: it waits for the next look.
    let armed = lockingSockets { body.pointee.armed }
    var canRead = events & UInt32(TREADLE_READABLE) != 0, canWrite = events & UInt32(TREADLE_WRITABLE) != 0
    if events & (UInt32(TREADLE_HANGUP) | UInt32(TREADLE_FAILED)) != 0 {
      let seen = Int(treadle_cf_poll(body.pointee.fd))
      canRead = seen & (TREADLE_CF_CAN_READ | TREADLE_CF_IS_BROKEN) != 0
      canWrite = seen & (TREADLE_CF_CAN_WRITE | TREADLE_CF_IS_BROKEN) != 0
    }
    let hasTold = canRead && tell(descriptor, body, armed & WatchBody.Kinds.read)
    // Removed by that call it is not called any more in this pass (OBJ-9).
    if canWrite && (!hasTold || isInRunningMode(handle)) {
      _ = tell(descriptor, body, armed & WatchBody.Kinds.writeOfDescriptor)
    }
  }
}

/// Whether the kind was due; 0 is none. What Treadle watches for is put right in any case: it may be more than what is
/// armed.
private func tell(_ descriptor: UInt, _ body: Pointer<WatchBody>, _ kind: UInt) -> Bool {
  var isDue = false
  adjusting(body, function) {
    isDue = body.pointee.isValid && body.pointee.armed & kind != 0
    body.pointee.armed &= ~kind
  }
  if isDue { callingOut(body) { info in body.pointee.descriptorCallout?(descriptor, kind, info) } }
  return isDue
}
