// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_lock_create")
public func treadle_lock_create(
  _ flags: UInt32, _ out_lock: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_lock_create") { () throws(Failure) in
    let out = try need(out_lock, nil, "out_lock")
    if flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
    out.pointee = pointer(try ClientLock.create(isRecursive: flags & 1 != 0).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_lock_lock")
public func treadle_lock_lock(_ lock: OpaquePointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_lock_lock") { () throws(Failure) in
    let lock = try ClientLock.hold(bits(lock), "lock")
    defer { lock.letGo() }
    try lock.lock(timeout: timeout_ns)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_lock_unlock")
public func treadle_lock_unlock(_ lock: OpaquePointer?) -> treadle_status {
  status("treadle_lock_unlock") { () throws(Failure) in
    let lock = try ClientLock.hold(bits(lock), "lock")
    defer { lock.letGo() }
    try lock.unlock()
    return Status.ok
  }
}

@implementation @_cdecl("treadle_condition_create")
public func treadle_condition_create(_ out_condition: UnsafeMutablePointer<OpaquePointer?>?) -> treadle_status {
  status("treadle_condition_create") { () throws(Failure) in
    let out = try need(out_condition, nil, "out_condition")
    out.pointee = pointer(try ClientCondition.create().handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_condition_wait")
public func treadle_condition_wait(
  _ condition: OpaquePointer?, _ lock: OpaquePointer?, _ timeout_ns: Int64
) -> treadle_status {
  status("treadle_condition_wait") { () throws(Failure) in
    let condition = try ClientCondition.hold(bits(condition), "condition")
    defer { condition.letGo() }
    let lock = try ClientLock.hold(bits(lock), "lock")
    defer { lock.letGo() }
    try condition.wait(lock, timeout: timeout_ns)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_condition_signal")
public func treadle_condition_signal(_ condition: OpaquePointer?) -> treadle_status {
  status("treadle_condition_signal") { () throws(Failure) in
    let condition = try ClientCondition.hold(bits(condition), "condition")
    defer { condition.letGo() }
    condition.signal()
    return Status.ok
  }
}

@implementation @_cdecl("treadle_condition_broadcast")
public func treadle_condition_broadcast(_ condition: OpaquePointer?) -> treadle_status {
  status("treadle_condition_broadcast") { () throws(Failure) in
    let condition = try ClientCondition.hold(bits(condition), "condition")
    defer { condition.letGo() }
    condition.broadcast()
    return Status.ok
  }
}
