// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@implementation @_cdecl("treadle_host_register")
public func treadle_host_register(
  _ config: UnsafePointer<treadle_host_config>?, _ out_host: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_register") { () throws(Failure) in
    let out = try need(out_host, nil, "out_host")
    let config = try copyStruct(config, "config")
    guard let dispatch = config.dispatch else { throw Failure(Status.argument, "dispatch", "is NULL") }
    let host = try Host.register(
      dispatch: unsafeBitCast(dispatch, to: Host.Dispatch.self), enter: config.thread_enter, exit: config.thread_exit,
      user: config.user)
    out.pointee = pointer(host.handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_quiesce")
public func treadle_host_quiesce(_ host: OpaquePointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_host_quiesce") { () throws(Failure) in
    try Host(bits(host), "host").quiesce(timeout: timeout_ns)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_get_dropped")
public func treadle_host_get_dropped(
  _ host: OpaquePointer?, _ out_count: UnsafeMutablePointer<UInt64>?
) -> treadle_status {
  status("treadle_host_get_dropped") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    out.pointee = try Host(bits(host), "host").droppedCount
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
    let host = try Host(bits(host), "host")
    if tokens == nil && capacity != 0 { throw Failure(Status.argument, "tokens", "is NULL, but capacity is not 0") }
    if capacity < 0 { throw Failure(Status.argument, "capacity", "is larger than memory") }
    out.pointee = host.takeRetired(UnsafeMutableBufferPointer(start: tokens, count: capacity))
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_get_retired_count")
public func treadle_host_get_retired_count(_ host: OpaquePointer?) -> UnsafePointer<UInt64>? {
  answer("treadle_host_get_retired_count", nil) { () throws(Failure) in
    try Host(bits(host), "host").retiredCountAddress
  }
}

@implementation @_cdecl("treadle_host_create_source")
public func treadle_host_create_source(
  _ host: OpaquePointer?, _ token: UInt64, _ wants: UInt32, _ order: Int64,
  _ out_source: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_create_source") { () throws(Failure) in
    let out = try need(out_source, nil, "out_source")
    let host = try Host(bits(host), "host")
    if wants & ~3 != 0 { throw Failure(Status.argument, "wants", "has bits that mean nothing") }
    out.pointee = pointer(
      try host.makeSource(token, order: order, wantsSchedule: wants & 1 != 0, wantsCancel: wants & 2 != 0).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_create_descriptor")
public func treadle_host_create_descriptor(
  _ host: OpaquePointer?, _ token: UInt64, _ fd: Int32, _ events: UInt32, _ flags: UInt32,
  _ out_descriptor: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_create_descriptor") { () throws(Failure) in
    let out = try need(out_descriptor, nil, "out_descriptor")
    let host = try Host(bits(host), "host")
    try checkEvents(events, allowsNone: false)
    if flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
    if fd < 0 { throw Failure(Status.argument, "fd", "is negative") }
    out.pointee = pointer(
      try host.makeDescriptor(token, number: fd, events: events, isAcknowledged: flags & 1 != 0).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_create_timer")
public func treadle_host_create_timer(
  _ host: OpaquePointer?, _ token: UInt64, _ fire_at: Int64, _ interval_ns: Int64, _ order: Int64,
  _ out_timer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_create_timer") { () throws(Failure) in
    let out = try need(out_timer, nil, "out_timer")
    let host = try Host(bits(host), "host")
    out.pointee = pointer(try host.makeTimer(token, date: fire_at, interval: interval_ns, order: order).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_create_observer")
public func treadle_host_create_observer(
  _ host: OpaquePointer?, _ token: UInt64, _ activities: UInt32, _ once: UInt32, _ order: Int64,
  _ out_observer: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_create_observer") { () throws(Failure) in
    let out = try need(out_observer, nil, "out_observer")
    let host = try Host(bits(host), "host")
    out.pointee = pointer(try host.makeObserver(token, activities: activities, once: once != 0, order: order).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_perform_block")
public func treadle_host_perform_block(
  _ host: OpaquePointer?, _ token: UInt64, _ loop: OpaquePointer?, _ modes: UnsafePointer<UnsafePointer<CChar>?>?,
  _ mode_count: Int
) -> treadle_status {
  status("treadle_host_perform_block") { () throws(Failure) in
    let host = try Host(bits(host), "host")
    return try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
      try host.perform(token, on: loop, modes: modeList(modes, mode_count))
    }
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
    let host = try Host(bits(host), "host")
    let loop = try Loop(unheld: bits(loop), "loop")
    if flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
    return try host.run(loop, mode.map { ModeName($0) }, timeout: timeout_ns, flags: flags)
  }
}

@implementation @_cdecl("treadle_host_next")
public func treadle_host_next() -> UInt64 { Host.next() }

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
