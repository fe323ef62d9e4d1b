// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

// Which thread is which, and what each one carries.

@implementation @_cdecl("treadle_thread_current")
public func treadle_thread_current() -> OpaquePointer? {
  answer("treadle_thread_current", nil) { () throws(Failure) in pointer(try Thread.currentHandle()) }
}

@implementation @_cdecl("treadle_thread_main")
public func treadle_thread_main() -> OpaquePointer? {
  answer("treadle_thread_main", nil) { () throws(Failure) in pointer(try Thread.main().handle) }
}

@implementation @_cdecl("treadle_thread_is_main")
public func treadle_thread_is_main(_ thread: OpaquePointer?) -> Bool {
  answer("treadle_thread_is_main", false) { () throws(Failure) in
    try thread == nil ? Thread.isMainCalling : Thread.holding(thread) { $0.isMain }
  }
}

@implementation @_cdecl("treadle_is_multithreaded")
public func treadle_is_multithreaded() -> Bool { MultiThreading.isOn }

@implementation @_cdecl("treadle_thread_get_id")
public func treadle_thread_get_id(
  _ thread: OpaquePointer?, _ out_thread_id: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_thread_get_id") { () throws(Failure) in
    let out = try need(out_thread_id, 0, "out_thread_id")
    out.pointee = try Thread.holding(thread) { $0.kernelID }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_copy_loop")
public func treadle_thread_copy_loop(
  _ thread: OpaquePointer?, _ out_loop: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_thread_copy_loop") { () throws(Failure) in
    let out = try need(out_loop, nil, "out_loop")
    let loop = try Thread.holding(thread) { thread throws(Failure) in try thread.holdLoop() }
    defer { loop.letGo() }
    try Slab(.loop).retainForClient(loop.handle.bits, "thread's loop")
    out.pointee = pointer(loop.handle)
    return Status.ok
  }
}

// MARK: Attributes

@implementation @_cdecl("treadle_thread_set_stack_size")
public func treadle_thread_set_stack_size(_ thread: OpaquePointer?, _ size: Int) -> treadle_status {
  status("treadle_thread_set_stack_size") { () throws(Failure) in
    try Thread.holding(thread) { thread throws(Failure) in try thread.setStackSize(size) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_get_stack_size")
public func treadle_thread_get_stack_size(
  _ thread: OpaquePointer?, _ out_size: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_thread_get_stack_size") { () throws(Failure) in
    let out = try need(out_size, 0, "out_size")
    out.pointee = try Thread.holding(thread) { $0.stackSize }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_set_name")
public func treadle_thread_set_name(_ thread: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> treadle_status {
  status("treadle_thread_set_name") { () throws(Failure) in
    guard let name else { throw Failure(Status.argument, "name", "is NULL") }
    try Thread.holding(thread) { thread throws(Failure) in try thread.setName(name) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_get_name")
public func treadle_thread_get_name(
  _ thread: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_thread_get_name") { () throws(Failure) in
    try writeText(buffer, capacity, out_length) { text throws(Failure) in
      try Thread.holding(thread) { thread in
        thread.withName { name in if let name { text.append(name) } }
      }
    }
  }
}

@implementation @_cdecl("treadle_thread_set_priority")
public func treadle_thread_set_priority(_ thread: OpaquePointer?, _ priority: Double) -> treadle_status {
  status("treadle_thread_set_priority") { () throws(Failure) in
    try Thread.holding(thread) { thread throws(Failure) in try thread.setPriority(priority) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_get_priority")
public func treadle_thread_get_priority(
  _ thread: OpaquePointer?, _ out_priority: UnsafeMutablePointer<Double>?, _ out_applied: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_thread_get_priority") { () throws(Failure) in
    out_applied?.pointee = 0
    let out = try need(out_priority, 0, "out_priority")
    try Thread.holding(thread) { thread in
      out.pointee = thread.priority
      out_applied?.pointee = thread.isPriorityApplied ? 1 : 0
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_set_policy")
public func treadle_thread_set_policy(_ thread: OpaquePointer?, _ policy: UInt32) -> treadle_status {
  status("treadle_thread_set_policy") { () throws(Failure) in
    if policy > 2 { throw Failure(Status.argument, "policy", "is not one of TREADLE_POLICY_...") }
    try Thread.holding(thread) { thread throws(Failure) in try thread.setPolicy(policy) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_get_policy")
public func treadle_thread_get_policy(
  _ thread: OpaquePointer?, _ out_policy: UnsafeMutablePointer<UInt32>?
) -> treadle_status {
  status("treadle_thread_get_policy") { () throws(Failure) in
    let out = try need(out_policy, 0, "out_policy")
    out.pointee = try Thread.holding(thread) { $0.policy }
    return Status.ok
  }
}

// MARK: The dictionary

private func needKey(_ key: UnsafePointer<CChar>?) throws(Failure) -> UnsafePointer<CChar> {
  guard let key else { throw Failure(Status.argument, "key", "is NULL") }
  return key
}

@implementation @_cdecl("treadle_thread_set_value")
public func treadle_thread_set_value(
  _ thread: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ value: UnsafeMutableRawPointer?,
  _ release: treadle_release_fn?
) -> treadle_status {
  status("treadle_thread_set_value") { () throws(Failure) in
    do throws(Failure) {
      let key = try needKey(key)
      try Thread.holdingForCalls(thread) { thread throws(Failure) in try thread.setValue(key, value, release: release) }
      return Status.ok
    } catch {
      ClientCall.giveBack(release, value)
      throw error
    }
  }
}

@implementation @_cdecl("treadle_thread_get_value")
public func treadle_thread_get_value(
  _ thread: OpaquePointer?, _ key: UnsafePointer<CChar>?,
  _ out_value: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> treadle_status {
  status("treadle_thread_get_value") { () throws(Failure) in
    let out = try need(out_value, nil, "out_value")
    let key = try needKey(key)
    out.pointee = try Thread.holding(thread) { thread throws(Failure) in try thread.value(key) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_use_value")
public func treadle_thread_use_value(
  _ thread: OpaquePointer?, _ key: UnsafePointer<CChar>?,
  _ use: (@convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void)?,
  _ info: UnsafeMutableRawPointer?
) -> treadle_status {
  status("treadle_thread_use_value") { () throws(Failure) in
    let key = try needKey(key)
    guard let use else { throw Failure(Status.argument, "use", "is NULL") }
    try Thread.holdingForCalls(thread) { thread throws(Failure) in try thread.useValue(key, use, info) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_remove_value")
public func treadle_thread_remove_value(_ thread: OpaquePointer?, _ key: UnsafePointer<CChar>?) -> treadle_status {
  status("treadle_thread_remove_value") { () throws(Failure) in
    let key = try needKey(key)
    return try Thread.holdingForCalls(thread) { $0.removeValue(key) }
  }
}

// MARK: Sleeping

@implementation @_cdecl("treadle_thread_sleep_until")
public func treadle_thread_sleep_until(_ time: Int64) -> treadle_status {
  status("treadle_thread_sleep_until") { () throws(Failure) in
    try Thread.sleep(until: time)
    return Status.ok
  }
}
