// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@_optimize(speed)
@implementation @_cdecl("treadle_perform")
public func treadle_perform(
  _ on: UnsafeMutableRawPointer?, _ request: UnsafePointer<treadle_request>?
) -> treadle_status {
  status("treadle_perform") { () throws(Failure) in
    try takingOver(request, "request") { request, given throws(Failure) in
      let modes = try requestModes(given.modes, given.mode_count)
      if given.delay_ns != 0 && given.flags & UInt32(TREADLE_PERFORM_AFTER | TREADLE_PERFORM_UNTIL_WORD) == 0 {
        throw Failure(Status.argument, "delay_ns", "is given without TREADLE_PERFORM_AFTER or a wait for a word")
      }
      switch given.flags {
      case 0: return try perform(request, on: on, modes, .nothing)
      case UInt32(TREADLE_PERFORM_WAIT): return try perform(request, on: on, modes, .itsEnd)
      case UInt32(TREADLE_PERFORM_UNTIL_WORD):
        if given.host == nil { throw Failure(Status.argument, "host", "is NULL for a wait for a host's word") }
        let word = try HostWord(given.target?.assumingMemoryBound(to: UInt32.self), "target")
        return try perform(request, on: on, modes, .word(word, timeout: given.delay_ns))
      case UInt32(TREADLE_PERFORM_AFTER):
        if on != nil { throw Failure(Status.argument, "on", "is given for a delay, which is the calling thread's") }
        return try DelayedRequest.schedule(request, after: given.delay_ns, modes: modes)
      case UInt32(TREADLE_PERFORM_IN_BACKGROUND):
        if on != nil { throw Failure(Status.argument, "on", "is given for a thread that is made for the request") }
        if modes != nil { throw Failure(Status.argument, "modes", "is given for a thread that runs no loop") }
        let thread = try Scope.making { () throws(Failure) in try Thread.performInBackground(request).handle }
        // The scope may have taken the reference.
        try? Thread.release(thread.bits)
        return Status.ok
      default: throw Failure(Status.argument, "flags", "has unknown flags, or flags that exclude each other")
      }
    }
  }
}

@inline(__always)
private func perform(
  _ request: WorkItem, on: UnsafeMutableRawPointer?, _ modes: ModeNames?, _ awaited: WorkItem.Awaited
) throws(Failure) -> Int32 {
  let handle = Handle(bits: UInt(bitPattern: on))
  if handle.kind == .loop {
    return try Loop.holding(handle.bits, "on") { loop throws(Failure) in
      try loop.perform(request, modes: modes, awaited)
    }
  }
  return try Thread.holdingForCalls(OpaquePointer(on), "on") { thread throws(Failure) in
    try thread.perform(request, modes: modes, awaited)
  }
}

@implementation @_cdecl("treadle_perform_cancel")
public func treadle_perform_cancel(_ like: UnsafePointer<treadle_request>?) -> treadle_status {
  status("treadle_perform_cancel") { () throws(Failure) in
    let given = try ClientStruct.copy(like, "like")
    if given.fn == nil && given.routine == nil && given.host == nil {
      return try DelayedRequest.cancel(target: given.target)
    }
    var request = try makeRequest(given)
    if let host = try hostOf(given.host, given.token) {
      request.indirect = host.callback
      request.token = given.token
    }
    // It only describes others: what it holds itself is its routine.
    let callback = request.indirect
    defer { drop(callback) }
    return try ObjectCall.recorded(
      0, holding: callback, { drop($0.assumingMemoryBound(to: IndirectCallback.self).pointee) }
    ) { () throws(Failure) in try DelayedRequest.cancel(request) }
  }
}

// MARK: Requests

/// Runs `body` with a client's request, which `body` takes over unless it throws: its releases are called
/// once, whatever happens, if the struct can be read at all.
@inline(__always)
func takingOver(
  _ given: UnsafePointer<treadle_request>?, _ subject: StaticString,
  _ body: (WorkItem, treadle_request) throws(Failure) -> Int32
) throws(Failure) -> Int32 {
  let known = try ClientStruct.copyKnownPart(given, subject)
  let request: WorkItem
  let host: Host?
  do throws(Failure) {
    request = try makeRequest(ClientStruct.copy(given, subject))
    host = try hostOf(known.host, known.token)
  } catch {
    ClientCall.giveBack(known.release_target, known.target)
    ClientCall.giveBack(known.release_argument, known.argument)
    throw error
  }
  let result: Int32
  if let host {
    let isAwaited = known.flags & UInt32(TREADLE_PERFORM_WAIT) != 0
    result = try host.registering(known.token, as: request, isAwaited: isAwaited) { request throws(Failure) in
      try body(request, known)
    }
  } else {
    do throws(Failure) {
      result = try body(request, known)
    } catch {
      request.dispose()
      throw error
    }
  }
  return try checkOutcome(result)
}

/// What an accepted request came to, as an error where it is one.
func checkOutcome(_ result: Int32) throws(Failure) -> Int32 {
  switch result {
  case Status.closed: throw Failure(result, "thread", "has ended, or treadle_shutdown was called")
  case Status.deadlock: throw Failure(result, "thread", "waits for the calling one")
  case Status.timeout: throw Failure(result, "timeout_ns", "passed before the call ended")
  case Status.cancelled: throw Failure(result, "invocation", "was cancelled before its call began")
  case Status.forked: throw Runtime.forkedFailure
  case Status.callback: throw Failure(result, "callback", "of a host did not complete")
  default: return result
  }
}

private func makeRequest(_ given: treadle_request) throws(Failure) -> WorkItem {
  if given.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
  if given.host != nil {
    try refuse(given.fn != nil, "fn")
    try refuse(given.routine != nil, "routine")
    try refuse(given.release_target != nil, "release_target")
    try refuse(given.release_argument != nil, "release_argument")
    try refuse(given.equal != nil, "equal")
  } else if given.fn == nil && given.routine == nil {
    throw Failure(Status.argument, "fn", "is NULL, and so are routine and host")
  }
  try checkLabel(given.label)
  var request = WorkItem(
    request: given.fn, target: given.target, argument: given.argument, label: keepLabel(given.label))
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
