// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@_optimize(speed)
@implementation @_cdecl("treadle_thread_perform")
public func treadle_thread_perform(
  _ thread: OpaquePointer?, _ request: UnsafePointer<treadle_request>?,
  _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ mode_count: Int, _ flags: UInt32
) -> treadle_status {
  status("treadle_thread_perform") { () throws(Failure) in
    try perform(request, modes, mode_count, flags) { () throws(Failure) in try Thread.hold(bits(thread), "thread") }
  }
}

@implementation @_cdecl("treadle_main_perform")
public func treadle_main_perform(
  _ request: UnsafePointer<treadle_request>?, _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ mode_count: Int,
  _ flags: UInt32
) -> treadle_status {
  status("treadle_main_perform") { () throws(Failure) in
    try perform(request, modes, mode_count, flags) { () throws(Failure) in
      try Thread.hold(Thread.main().handle.bits, "thread")
    }
  }
}

private func perform(
  _ request: UnsafePointer<treadle_request>?, _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int,
  _ flags: UInt32, _ hold: () throws(Failure) -> Thread
) throws(Failure) -> Int32 {
  try takingOver(request) { request throws(Failure) in
    if flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
    let modes = try requestModes(modes, count)
    let thread = try hold()
    defer { thread.letGo() }
    return try thread.perform(request, modes: modes, wait: flags & 1 != 0)
  }
}

@implementation @_cdecl("treadle_perform_after")
public func treadle_perform_after(
  _ delay_ns: Int64, _ request: UnsafePointer<treadle_request>?, _ modes: UnsafePointer<UnsafePointer<CChar>?>?,
  _ mode_count: Int
) -> treadle_status {
  status("treadle_perform_after") { () throws(Failure) in
    try takingOver(request) { request throws(Failure) in
      try DelayedRequest.schedule(request, after: delay_ns, modes: requestModes(modes, mode_count))
    }
  }
}

@implementation @_cdecl("treadle_perform_cancel_target")
public func treadle_perform_cancel_target(_ target: UnsafeMutableRawPointer?) -> treadle_status {
  status("treadle_perform_cancel_target") { () throws(Failure) in
    try DelayedRequest.cancel(target: target)
  }
}

@implementation @_cdecl("treadle_perform_cancel")
public func treadle_perform_cancel(_ like: UnsafePointer<treadle_request>?) -> treadle_status {
  status("treadle_perform_cancel") { () throws(Failure) in
    let request = try makeRequest(copyStruct(like, "like"))
    // It only describes others: what it holds itself is its routine.
    defer { drop(request.indirect) }
    return try DelayedRequest.cancel(request)
  }
}

@implementation @_cdecl("treadle_perform_in_background")
public func treadle_perform_in_background(
  _ request: UnsafePointer<treadle_request>?, _ out_thread: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_perform_in_background") { () throws(Failure) in
    out_thread?.pointee = nil
    return try takingOver(request) { request throws(Failure) in
      let thread = try Thread.performInBackground(request)
      if let out_thread { out_thread.pointee = pointer(thread.handle) } else { try? Thread.release(thread.handle.bits) }
      return Status.ok
    }
  }
}

// MARK: Requests

/// Runs `body` with a client's request, which `body` takes over unless it throws: its releases are called
/// once, whatever happens, if the struct can be read at all.
func takingOver(
  _ given: UnsafePointer<treadle_request>?, _ subject: StaticString = "request",
  _ body: (Request) throws(Failure) -> Int32
) throws(Failure) -> Int32 {
  let known = try copyKnownPart(given, subject)
  let request: Request
  do throws(Failure) {
    request = try makeRequest(copyStruct(given, subject))
  } catch {
    known.release_target?(known.target)
    known.release_argument?(known.argument)
    throw error
  }
  let result: Int32
  do throws(Failure) {
    result = try body(request)
  } catch {
    request.dispose()
    throw error
  }
  return try checkOutcome(result)
}

/// What an accepted request came to, as an error where it is one.
func checkOutcome(_ result: Int32) throws(Failure) -> Int32 {
  switch result {
  case Status.closed: throw Failure(result, "thread", "has ended, or everything was shut down")
  case Status.deadlock: throw Failure(result, "thread", "waits for the calling one")
  case Status.timeout: throw Failure(result, "timeout_ns", "passed before the call was over")
  case Status.cancelled: throw Failure(result, "invocation", "was cancelled before its call began")
  case Status.forked: throw Runtime.forkedFailure
  case Status.callback: throw Failure(result, "callback", "of a host did not complete")
  default: return result
  }
}

private func makeRequest(_ given: treadle_request) throws(Failure) -> Request {
  if given.fn == nil && given.routine == nil { throw Failure(Status.argument, "fn", "is NULL, and so is routine") }
  var request = Request(function: given.fn, target: given.target, argument: given.argument)
  request.indirect = try mainCallback(hasPlain: given.fn != nil, given.routine, "routine")
  request.releaseTarget = given.release_target
  request.releaseArgument = given.release_argument
  request.equal = given.equal
  return request
}

/// A client's list of modes; nil when it gives none.
func requestModes(
  _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int
) throws(Failure) -> ModeNames? {
  let list = try modeList(modes, count)
  return modes == nil ? nil : list
}

// MARK: Hosts

@implementation @_cdecl("treadle_host_create_thread")
public func treadle_host_create_thread(
  _ host: OpaquePointer?, _ token: UInt64, _ out_thread: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_host_create_thread") { () throws(Failure) in
    let out = try need(out_thread, nil, "out_thread")
    out.pointee = pointer(try Host(bits(host), "host").makeThread(token).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_perform")
public func treadle_host_perform(
  _ host: OpaquePointer?, _ token: UInt64, _ thread: OpaquePointer?,
  _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ mode_count: Int, _ flags: UInt32
) -> treadle_status {
  status("treadle_host_perform") { () throws(Failure) in
    let host = try Host(bits(host), "host")
    if flags & ~1 != 0 { throw Failure(Status.argument, "flags", "has bits that mean nothing") }
    let modes = try requestModes(modes, mode_count)
    return try checkOutcome(
      Thread.holding(thread) { thread throws(Failure) in
        try host.perform(token, on: thread, modes: modes, wait: flags & 1 != 0)
      })
  }
}

@implementation @_cdecl("treadle_host_perform_and_wait")
public func treadle_host_perform_and_wait(
  _ host: OpaquePointer?, _ token: UInt64, _ thread: OpaquePointer?
) -> treadle_status {
  status("treadle_host_perform_and_wait") { () throws(Failure) in
    let host = try Host(bits(host), "host")
    return try checkOutcome(
      Thread.holding(thread) { thread throws(Failure) in try host.performAndWait(token, on: thread) })
  }
}

@implementation @_cdecl("treadle_host_perform_until")
public func treadle_host_perform_until(
  _ host: OpaquePointer?, _ token: UInt64, _ thread: OpaquePointer?, _ word: UnsafeMutablePointer<UInt32>?,
  _ timeout_ns: Int64
) -> treadle_status {
  status("treadle_host_perform_until") { () throws(Failure) in
    let host = try Host(bits(host), "host")
    let word = try HostWord(word)
    return try checkOutcome(
      Thread.holding(thread) { thread throws(Failure) in
        let outcome = try host.performOnce(token, on: thread)
        if outcome == Status.ok { try thread.wait(for: word, timeout: timeout_ns) }
        return outcome
      })
  }
}
