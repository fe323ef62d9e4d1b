// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

// Making, starting, ending and joining threads.

extension Thread {
  /// Held while a call looks at it, whatever other threads release meanwhile.
  @inline(__always)
  static func holding<Result>(
    _ handle: OpaquePointer?, _ subject: StaticString = "thread", _ body: (Thread) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let thread = try Thread.hold(bits(handle), subject)
    defer { thread.letGo() }
    return try body(thread)
  }

  /// The same where `body` may call the client, who may end the calling thread.
  @inline(__always)
  static func holdingForCalls<Result>(
    _ handle: OpaquePointer?, _ subject: StaticString = "thread", _ body: (Thread) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try holding(handle, subject) { thread throws(Failure) in
      try thread.droppedIfThreadEnds { () throws(Failure) in try body(thread) }
    }
  }
}

@implementation @_cdecl("treadle_thread_create")
public func treadle_thread_create(
  _ config: UnsafePointer<treadle_thread_config>?, _ out_thread: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_thread_create") { () throws(Failure) in
    out_thread?.pointee = nil
    let known = try ClientStruct.copyKnownPart(config, "config")
    do throws(Failure) {
      let out = try need(out_thread, nil, "out_thread")
      _ = try ClientStruct.copy(config, "config")
      if known.flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
      if known.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
      out.pointee = pointer(
        try Scope.making(in: bits(known.scope)) { () throws(Failure) in
          try makeThread(known, isDetached: known.flags & 1 != 0).handle
        })
      return Status.ok
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
  }
}

private func makeThread(_ config: treadle_thread_config, isDetached: Bool) throws(Failure) -> Thread {
  guard let host = try hostOf(config.host, config.token) else {
    let entry = ThreadEntry(code: config.fn ?? workerFunction, info: config.info, destroy: config.destroy)
    return try Thread.create(entry, isDetached: isDetached)
  }
  try refuse(config.fn != nil, "fn")
  try refuse(config.info != nil, "info")
  try refuse(config.destroy != nil, "destroy")
  return try host.makeThread(config.token, isDetached: isDetached)
}

/// A worker's: its run, whose result is the thread's.
private var workerFunction: ThreadEntry.Function {
  { _ in
    let result = status("treadle_loop_run") { () throws(Failure) in
      try Loop.current().run(CommonModes.defaultName, timeout: Clock.forever, flags: Frame.Flag.whenEmpty)
    }
    return UnsafeMutableRawPointer(bitPattern: Int(result))
  }
}

@implementation @_cdecl("treadle_thread_start")
public func treadle_thread_start(_ thread: OpaquePointer?) -> treadle_status {
  status("treadle_thread_start") { () throws(Failure) in
    try Thread.holdingForCalls(thread) { thread throws(Failure) in try thread.start() }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_start_and_wait")
public func treadle_thread_start_and_wait(_ thread: OpaquePointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_thread_start_and_wait") { () throws(Failure) in
    try Thread.holdingForCalls(thread) { thread throws(Failure) in try thread.startAndWait(timeout: timeout_ns) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_declare_ready")
public func treadle_thread_declare_ready() -> treadle_status {
  status("treadle_thread_declare_ready") { () throws(Failure) in
    try Thread.declareReadyInWords()
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_get_state")
public func treadle_thread_get_state(
  _ thread: OpaquePointer?, _ out_state: UnsafeMutablePointer<UInt32>?
) -> treadle_status {
  status("treadle_thread_get_state") { () throws(Failure) in
    let out = try need(out_state, 0, "out_state")
    out.pointee = try Thread.holding(thread) { $0.phase }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_cancel")
public func treadle_thread_cancel(_ thread: OpaquePointer?) -> treadle_status {
  status("treadle_thread_cancel") { () throws(Failure) in
    try Thread.holding(thread) { $0.cancel() }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_is_cancelled")
public func treadle_thread_is_cancelled(_ thread: OpaquePointer?) -> Bool {
  answer("treadle_thread_is_cancelled", false) { () throws(Failure) in
    try Thread.holding(thread) { $0.isCancelled }
  }
}

@implementation @_cdecl("treadle_thread_stop")
public func treadle_thread_stop(_ thread: OpaquePointer?) -> treadle_status {
  status("treadle_thread_stop") { () throws(Failure) in
    try Thread.holding(thread) { $0.stop() }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_request_stop")
public func treadle_thread_request_stop(_ thread: OpaquePointer?, _ flags: UInt32) -> treadle_status {
  status("treadle_thread_request_stop") { () throws(Failure) in
    try Thread.holding(thread) { thread throws(Failure) in try thread.requestStop(flags: flags) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_join")
public func treadle_thread_join(
  _ thread: OpaquePointer?, _ timeout_ns: Int64, _ out_result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> treadle_status {
  status("treadle_thread_join") { () throws(Failure) in
    out_result?.pointee = nil
    let result = try Thread.holding(thread) { thread throws(Failure) in try thread.join(timeout: timeout_ns) }
    out_result?.pointee = result
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_detach")
public func treadle_thread_detach(_ thread: OpaquePointer?) -> treadle_status {
  status("treadle_thread_detach") { () throws(Failure) in
    try Thread.holding(thread) { thread throws(Failure) in try thread.detach() }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_thread_is_detached")
public func treadle_thread_is_detached(_ thread: OpaquePointer?) -> Bool {
  answer("treadle_thread_is_detached", false) { () throws(Failure) in try Thread.holding(thread) { $0.isDetached } }
}

@implementation @_cdecl("treadle_thread_exit")
public func treadle_thread_exit(_ result: UnsafeMutableRawPointer?) -> treadle_status {
  status("treadle_thread_exit") { () throws(Failure) in
    try Thread.exit(result)
    return Status.ok
  }
}
