// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@implementation @_cdecl("treadle_loop_current")
public func treadle_loop_current() -> OpaquePointer? {
  answer("treadle_loop_current", nil) { () throws(Failure) in pointer(try Loop.current().handle) }
}

@implementation @_cdecl("treadle_loop_main")
public func treadle_loop_main() -> OpaquePointer? {
  answer("treadle_loop_main", nil) { () throws(Failure) in pointer(try Loop.main().handle) }
}

@implementation @_cdecl("treadle_loop_copy_of_thread")
public func treadle_loop_copy_of_thread(
  _ thread_id: Int32, _ out_loop: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_loop_copy_of_thread") { () throws(Failure) in
    let out = try need(out_loop, nil, "out_loop")
    out.pointee = pointer(try Loop.copy(ofThread: thread_id).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_run")
public func treadle_loop_run(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ timeout_ns: Int64, _ flags: UInt32
) -> treadle_status {
  status("treadle_loop_run") { () throws(Failure) in
    let loop = try Loop(unheld: bits(loop), "loop")
    if flags & ~3 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
    return try loop.run(mode.map { ModeName($0) }, timeout: timeout_ns, flags: flags)
  }
}

@implementation @_cdecl("treadle_loop_run_default")
public func treadle_loop_run_default(_ loop: OpaquePointer?) -> treadle_status {
  status("treadle_loop_run_default") { () throws(Failure) in try Loop(unheld: bits(loop), "loop").runDefault() }
}

@implementation @_cdecl("treadle_loop_set_interrupt_descriptor")
public func treadle_loop_set_interrupt_descriptor(_ loop: OpaquePointer?, _ fd: Int32) -> treadle_status {
  status("treadle_loop_set_interrupt_descriptor") { () throws(Failure) in
    try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.setInterruptDescriptor(fd) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_stop")
public func treadle_loop_stop(_ loop: OpaquePointer?) -> treadle_status {
  status("treadle_loop_stop") { () throws(Failure) in try Loop.holding(bits(loop), "loop") { $0.stop() } }
}

@implementation @_cdecl("treadle_loop_request_stop")
public func treadle_loop_request_stop(_ loop: OpaquePointer?, _ flags: UInt32) -> treadle_status {
  status("treadle_loop_request_stop") { () throws(Failure) in
    let loop = try Loop(unheld: bits(loop), "loop")
    if flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
    loop.requestStop(allLevels: flags & 1 != 0)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_wake")
public func treadle_loop_wake(_ loop: OpaquePointer?) -> treadle_status {
  status("treadle_loop_wake") { () throws(Failure) in
    try Loop(unheld: bits(loop), "loop").wake()
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_is_waiting")
public func treadle_loop_is_waiting(_ loop: OpaquePointer?) -> Bool {
  answer("treadle_loop_is_waiting", false) { () throws(Failure) in try Loop(unheld: bits(loop), "loop").isWaiting }
}

@implementation @_cdecl("treadle_loop_is_current")
public func treadle_loop_is_current(_ loop: OpaquePointer?) -> Bool {
  answer("treadle_loop_is_current", false) { () throws(Failure) in try Loop(unheld: bits(loop), "loop").belongsToCaller }
}

@implementation @_cdecl("treadle_loop_get_thread_id")
public func treadle_loop_get_thread_id(
  _ loop: OpaquePointer?, _ out_thread_id: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_loop_get_thread_id") { () throws(Failure) in
    let out = try need(out_thread_id, 0, "out_thread_id")
    out.pointee = try Loop(unheld: bits(loop), "loop").threadID
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_copy_current_mode")
public func treadle_loop_copy_current_mode(
  _ loop: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_loop_copy_current_mode") { () throws(Failure) in
    try writeText(buffer, capacity, out_length) { text throws(Failure) in
      try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
        try loop.withCurrentModeName { name throws(Failure) in
          guard let name else { throw Failure(Status.notFound, "loop", "is not being run") }
          text.append(name)
        }
      }
    }
  }
}

@implementation @_cdecl("treadle_loop_copy_modes")
public func treadle_loop_copy_modes(
  _ loop: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_loop_copy_modes") { () throws(Failure) in
    let out = try need(out_length, 0, "out_length")
    if buffer == nil && capacity != 0 { throw Failure(Status.argument, "buffer", "is NULL, but capacity is not 0") }
    var total = 0
    try Loop.holding(bits(loop), "loop") { loop in
      loop.forEachModeName { name in
        var size = 1
        while name[size &- 1] != 0 { size &+= 1 }
        if let buffer, total &+ size <= capacity { (buffer + total).update(from: name, count: size) }
        total &+= size
      }
    }
    out.pointee = total
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_add_common_mode")
public func treadle_loop_add_common_mode(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> treadle_status {
  status("treadle_loop_add_common_mode") { () throws(Failure) in
    try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.addCommonMode(needMode(mode)) }
  }
}

@implementation @_cdecl("treadle_loop_is_common_mode")
public func treadle_loop_is_common_mode(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> Bool {
  answer("treadle_loop_is_common_mode", false) { () throws(Failure) in
    try Loop.holding(bits(loop), "loop") { loop throws(Failure) in loop.isCommonMode(try needMode(mode)) }
  }
}

@implementation @_cdecl("treadle_loop_get_next_fire")
public func treadle_loop_get_next_fire(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ out_time: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_loop_get_next_fire") { () throws(Failure) in
    let out = try need(out_time, 0, "out_time")
    out.pointee = try Loop.holding(bits(loop), "loop") { loop throws(Failure) in loop.nextFire(try needMode(mode)) }
    return Status.ok
  }
}
