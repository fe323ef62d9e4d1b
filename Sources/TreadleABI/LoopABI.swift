// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleReport
import struct Synchronization.Atomic

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
    if flags & ~7 != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
    return try loop.run(mode.map { ModeName($0) }, timeout: timeout_ns, flags: flags)
  }
}

@implementation @_cdecl("treadle_loop_set_interrupt_descriptor")
public func treadle_loop_set_interrupt_descriptor(_ loop: OpaquePointer?, _ fd: Int32) -> treadle_status {
  status("treadle_loop_set_interrupt_descriptor") { () throws(Failure) in
    try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.setInterruptDescriptor(fd) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_open_pollable")
public func treadle_loop_open_pollable(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ out_fd: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_loop_open_pollable") { () throws(Failure) in
    let out = try need(out_fd, 0, "out_fd")
    let loop = try Loop(unheld: bits(loop), "loop")
    guard let mode else { throw Failure(Status.argument, "mode", "is NULL") }
    out.pointee = try loop.openPollable(ModeName(mode))
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_prepare")
public func treadle_loop_prepare(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ out_date: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_loop_prepare") { () throws(Failure) in
    let out = try need(out_date, 0, "out_date")
    let loop = try Loop(unheld: bits(loop), "loop")
    guard let mode else { throw Failure(Status.argument, "mode", "is NULL") }
    out.pointee = try loop.prepare(ModeName(mode))
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_dispatch")
public func treadle_loop_dispatch(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ budget_ns: Int64, _ budget_items: Int
) -> treadle_status {
  status("treadle_loop_dispatch") { () throws(Failure) in
    let loop = try Loop(unheld: bits(loop), "loop")
    guard let mode else { throw Failure(Status.argument, "mode", "is NULL") }
    // A size_t of all ones is negative here.
    return try loop.dispatch(ModeName(mode), time: budget_ns, items: budget_items < 0 ? Int.max : budget_items)
  }
}

@implementation @_cdecl("treadle_loop_stop")
public func treadle_loop_stop(_ loop: OpaquePointer?) -> treadle_status {
  status("treadle_loop_stop") { () throws(Failure) in try Loop.holding(bits(loop), "loop") { $0.stop() } }
}

@implementation @_cdecl("treadle_loop_request_stop")
public func treadle_loop_request_stop(_ loop: OpaquePointer?, _ flags: UInt32) -> treadle_status {
  signalSafeStatus { () throws(Failure) in
    let loop = try Loop(unheld: bits(loop), "loop")
    try loop.requestStop(flags: flags)
  }
}

@implementation @_cdecl("treadle_loop_wake")
public func treadle_loop_wake(_ loop: OpaquePointer?) -> treadle_status {
  signalSafeStatus { () throws(Failure) in try Loop(unheld: bits(loop), "loop").wake() }
}

@implementation @_cdecl("treadle_loop_is_waiting")
public func treadle_loop_is_waiting(_ loop: OpaquePointer?) -> Bool {
  answer("treadle_loop_is_waiting", false) { () throws(Failure) in try Loop(unheld: bits(loop), "loop").isWaiting }
}

@implementation @_cdecl("treadle_loop_is_current")
public func treadle_loop_is_current(_ loop: OpaquePointer?) -> Bool {
  answer("treadle_loop_is_current", false) { () throws(Failure) in try Loop(unheld: bits(loop), "loop").belongsToCaller
  }
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

@implementation @_cdecl("treadle_loop_copy_thread")
public func treadle_loop_copy_thread(
  _ loop: OpaquePointer?, _ out_thread: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_loop_copy_thread") { () throws(Failure) in
    let out = try need(out_thread, nil, "out_thread")
    out.pointee = pointer(try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.copyThread() })
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_get_current_mode")
public func treadle_loop_get_current_mode(
  _ loop: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_loop_get_current_mode") { () throws(Failure) in
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

@implementation @_cdecl("treadle_loop_get_modes")
public func treadle_loop_get_modes(
  _ loop: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_loop_get_modes") { () throws(Failure) in
    let out = try need(out_length, 0, "out_length")
    let buffer = try ClientBuffer(buffer, capacity)
    var total = 0
    try Loop.holding(bits(loop), "loop") { loop in
      loop.forEachMode { mode in
        guard let name = mode.name else { return }
        var size = 1
        while name[size &- 1] != 0 { size &+= 1 }
        if total &+ size <= buffer.capacity { buffer.place(total)?.update(from: name, count: size) }
        total &+= size
      }
    }
    out.pointee = total
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_copy_items")
public func treadle_loop_copy_items(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ items: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_loop_copy_items") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    var copied = try CopiedReferences(items, capacity, "items")
    do throws(Failure) {
      try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
        var members = try Members(of: loop, in: mode.map { ModeName($0) })
        defer { members.free() }
        for index in 0..<members.count where members.isFirst(index) {
          if let item = members.item(index), !DelayedRequest.isTimer(item) { try copied.add(item.kind, item.handle) }
        }
      }
    } catch {
      copied.giveBack()
      throw error
    }
    out.pointee = copied.count
    return Status.ok
  }
}

@implementation @_cdecl("treadle_loop_get_counters")
public func treadle_loop_get_counters(
  _ loop: OpaquePointer?, _ out_counters: UnsafeMutablePointer<treadle_loop_counters>?
) -> treadle_status {
  status("treadle_loop_get_counters") { () throws(Failure) in
    try ClientStruct.fill(out_counters, "out_counters") { result throws(Failure) in
      try Loop.holding(bits(loop), "loop") { loop in
        let counters = loop.counters
        result.passes = counters.pointee.passes.load(ordering: .relaxed)
        result.sleeps = counters.pointee.sleeps.load(ordering: .relaxed)
        result.wakes = counters.pointee.wakes.load(ordering: .relaxed)
        result.posts = counters.pointee.posts.load(ordering: .relaxed)
        result.signals = counters.pointee.signals.load(ordering: .relaxed)
        result.timers = counters.pointee.timers.load(ordering: .relaxed)
        result.messages = counters.pointee.messages.load(ordering: .relaxed)
        result.discarded = counters.pointee.discarded.load(ordering: .relaxed)
        result.descriptors = counters.pointee.descriptors.load(ordering: .relaxed)
        result.requests = counters.pointee.requests.load(ordering: .relaxed)
        let longest = loop.longestCall
        result.longest_ns = longest.duration
        result.longest_item = UnsafeMutableRawPointer(bitPattern: longest.item)
        result.longest_kind = longest.kind
        result.last_finish = counters.pointee.lastFinish.load(ordering: .relaxed)
      }
    }
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
    try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.isCommonMode(needMode(mode)) }
  }
}

@implementation @_cdecl("treadle_loop_get_next_fire")
public func treadle_loop_get_next_fire(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ out_time: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_loop_get_next_fire") { () throws(Failure) in
    let out = try need(out_time, 0, "out_time")
    out.pointee = try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.nextFire(needMode(mode)) }
    return Status.ok
  }
}
