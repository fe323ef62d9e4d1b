// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_host_register")
public func treadle_host_register(
  _ config: UnsafePointer<treadle_host_config>?, _ out_host: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_register") { () throws(Failure) in
    let out = try need(out_host, nil, "out_host")
    let config = try ClientStruct.copy(config, "config")
    if config.dispatch == nil && config.thread_enter != nil {
      throw Failure(Status.argument, "thread_enter", "is given without dispatch")
    }
    if config.dispatch == nil && config.thread_exit != nil {
      throw Failure(Status.argument, "thread_exit", "is given without dispatch")
    }
    let handle = try Scope.making { () throws(Failure) in
      try Host.register(
        dispatch: config.dispatch.map { unsafeBitCast($0, to: Host.Dispatch.self) }, enter: config.thread_enter,
        exit: config.thread_exit,
        user: config.user
      ).handle
    }
    out.pointee = pointer(handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_quiesce")
public func treadle_host_quiesce(_ host: OpaquePointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_host_quiesce") { () throws(Failure) in
    try Host.using(bits(host), "host") { host throws(Failure) in try host.quiesce(timeout: timeout_ns) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_get_dropped")
public func treadle_host_get_dropped(
  _ host: OpaquePointer?, _ out_count: UnsafeMutablePointer<UInt64>?
) -> treadle_status {
  status("treadle_host_get_dropped") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    out.pointee = try Host.using(bits(host), "host") { $0.droppedCount }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_take_retired")
public func treadle_host_take_retired(
  _ host: OpaquePointer?, _ tokens: UnsafeMutablePointer<UInt64>?, _ capacity: Int,
  _ out_count: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_host_take_retired") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    out.pointee = try Host.using(bits(host), "host") { host throws(Failure) in
      host.takeRetired(try ClientBuffer(tokens, capacity, "tokens").elements)
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_get_retired_count")
public func treadle_host_get_retired_count(_ host: OpaquePointer?) -> UnsafePointer<UInt64>? {
  answer("treadle_host_get_retired_count", nil) { () throws(Failure) in
    try Host.using(bits(host), "host") { $0.retiredCountAddress }
  }
}

@implementation @_cdecl("treadle_host_post")
public func treadle_host_post(_ host: OpaquePointer?, _ token: UInt64, _ loop: OpaquePointer?) -> treadle_status {
  status("treadle_host_post") { () throws(Failure) in
    try Host(bits(host), "host").post(token, on: bits(loop))
  }
}

@implementation @_cdecl("treadle_host_run")
public func treadle_host_run(
  _ host: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ timeout_ns: Int64, _ flags: UInt32
) -> treadle_status {
  status("treadle_host_run") { () throws(Failure) in
    try Host.using(bits(host), "host") { host throws(Failure) in
      let loop = try Loop(unheld: bits(loop), "loop")
      if flags & ~5 != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
      return try host.run(loop, mode.map { ModeName($0) }, timeout: timeout_ns, flags: flags)
    }
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_loop_next")
public func treadle_loop_next(_ loop: OpaquePointer?, _ pull: UnsafeMutablePointer<treadle_pull>?) -> treadle_status {
  status("treadle_loop_next") { () throws(Failure) in
    guard let pull, pull.pointee.struct_size == MemoryLayout<treadle_pull>.size else {
      return try nextOfOther(loop, pull)
    }
    return try next(loop, pull)
  }
}

/// A pull of a program that was built for another version.
@inline(never)
private func nextOfOther(_ loop: OpaquePointer?, _ pull: UnsafeMutablePointer<treadle_pull>?) throws(Failure) -> Int32 {
  var known = try ClientStruct.copy(UnsafePointer(pull), "pull")
  defer { if let pull { ClientStruct.store(known, to: pull) } }
  return try next(loop, &known)
}

@inline(__always)
private func next(_ loop: OpaquePointer?, _ pull: UnsafeMutablePointer<treadle_pull>) throws(Failure) -> Int32 {
  pull.pointee.count = 0
  let loop = try Loop(unheld: bits(loop), "loop")
  var room = try eventRoom(pull)
  let failed = Int(pull.pointee.failed)
  pull.pointee.failed = 0
  defer { pull.pointee.count = room.count }
  if pull.pointee.run != 0 && pull.pointee.flags & ~7 == 0 {
    return try loop.next(&pull.pointee.run, failed: failed, &room)
  }
  return try begin(loop, pull, failed, &room)
}

/// The first call of a run, and those of dispatch functions.
@_optimize(speed)
@inline(never)
private func begin(
  _ loop: Loop, _ pull: UnsafeMutablePointer<treadle_pull>, _ failed: Int, _ room: inout EventRoom
) throws(Failure) -> Int32 {
  let flags = pull.pointee.flags
  if flags == UInt32(TREADLE_NEXT_IN_DISPATCH) {
    if pull.pointee.run != 0 {
      throw Failure(Status.argument, "run", "is not 0, but a dispatch function has no run of its own")
    }
    try Host(bits(pull.pointee.host), "host").next(loop, failed: failed, &room)
    return room.count == 0 ? Status.ignored : Status.ok
  }
  if flags & ~7 != 0 { throw Failure(Status.argument, "flags", "has unknown flags, or flags that exclude each other") }
  if failed != 0 { throw Failure(Status.argument, "failed", "is not 0, but the run has not begun") }
  let result = try Host.using(bits(pull.pointee.host), "host") { host throws(Failure) in
    try host.beginPull(
      loop, pull.pointee.mode.map { ModeName($0) }, timeout: pull.pointee.timeout_ns, flags: flags, &pull.pointee.run)
  }
  return pull.pointee.run == 0 ? result : try loop.next(&pull.pointee.run, failed: 0, &room)
}

/// The client's room for events.
@inline(__always)
private func eventRoom(_ pull: UnsafeMutablePointer<treadle_pull>) throws(Failure) -> EventRoom {
  let (size, capacity) = (pull.pointee.event_size, pull.pointee.capacity)
  guard let events = pull.pointee.events else { throw Failure(Status.argument, "events", "is NULL") }
  if UInt(bitPattern: events) & 7 != 0 { throw Failure(Status.argument, "events", "is not aligned") }
  if size < treadle_event.firstSize || size > 4096 || size & 7 != 0 {
    throw Failure(Status.argument, "event_size", "is not the size of an event of any version")
  }
  if capacity <= 0 || capacity > Int.max / 4096 {
    throw Failure(Status.argument, "capacity", "is 0, or larger than memory")
  }
  return EventRoom(UnsafeMutableRawPointer(events), stride: size, capacity: capacity)
}

@implementation @_cdecl("treadle_host_wait")
public func treadle_host_wait(
  _ loop: OpaquePointer?, _ word: UnsafeMutablePointer<UInt32>?, _ timeout_ns: Int64
) -> treadle_status {
  status("treadle_host_wait") { () throws(Failure) in
    let word = try HostWord(word)
    return try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
      try word.wait(for: loop, timeout: timeout_ns)
      return Status.ok
    }
  }
}

@implementation @_cdecl("treadle_host_end_wait")
public func treadle_host_end_wait(_ word: UnsafeMutablePointer<UInt32>?) -> treadle_status {
  status("treadle_host_end_wait") { () throws(Failure) in
    let known = try HostWord(word)
    try Runtime.start()
    known.end()
    return Status.ok
  }
}
