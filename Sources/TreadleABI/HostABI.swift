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
    let handle = try Scope.making { () throws(Failure) in
      try Host.register(
        dispatch: unsafeBitCast(dispatch, to: Host.Dispatch.self), enter: config.thread_enter, exit: config.thread_exit,
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
    if flags & ~5 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
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
