// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleCalls

@implementation @_cdecl("treadle_invocation_create")
public func treadle_invocation_create(
  _ config: UnsafePointer<treadle_invocation_config>?, _ out_invocation: UnsafeMutablePointer<treadle_invocation?>?
) -> treadle_status {
  status("treadle_invocation_create") { place throws(Failure) in
    out_invocation?.pointee = nil
    let known = try ClientStruct.copyKnownPart(config, "config")
    do throws(Failure) {
      let out = try need(out_invocation, nil, "out_invocation")
      _ = try ClientStruct.copy(config, "config")
      guard let code = known.code else { throw Failure(Status.argument, "code", "is NULL") }
      try Runtime.start()
      let signature = try internSignature(known.signature, "signature", &place).signature
      out.pointee = pointer(
        try Scope.making(in: bits(known.scope)) { () throws(Failure) in
          try Invocation.create(signature, code: code, destroy: known.destroy, info: known.info)
        })
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
    return Status.ok
  }
}

// MARK: Values

@implementation @_cdecl("treadle_invocation_set_argument")
public func treadle_invocation_set_argument(
  _ invocation: treadle_invocation?, _ index: Int, _ value: UnsafeRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_invocation_set_argument") { () throws(Failure) in
    try holding(invocation) { invocation throws(Failure) in
      try invocation.setArgument(index, value, size: size)
      return Status.ok
    }
  }
}

@implementation @_cdecl("treadle_invocation_set_buffer")
public func treadle_invocation_set_buffer(
  _ invocation: treadle_invocation?, _ index: Int, _ bytes: UnsafeMutableRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_invocation_set_buffer") { () throws(Failure) in
    try holding(invocation) { invocation throws(Failure) in
      try invocation.setBuffer(index, bytes, size: size)
      return Status.ok
    }
  }
}

@implementation @_cdecl("treadle_invocation_get_argument")
public func treadle_invocation_get_argument(
  _ invocation: treadle_invocation?, _ index: Int, _ value: UnsafeMutableRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_invocation_get_argument") { () throws(Failure) in
    try holding(invocation) { invocation throws(Failure) in
      try invocation.getArgument(index, value, size: size)
      return Status.ok
    }
  }
}

@implementation @_cdecl("treadle_invocation_get_buffer")
public func treadle_invocation_get_buffer(
  _ invocation: treadle_invocation?, _ index: Int, _ bytes: UnsafeMutableRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_invocation_get_buffer") { () throws(Failure) in
    try holding(invocation) { invocation throws(Failure) in
      try invocation.getBuffer(index, bytes, size: size)
      return Status.ok
    }
  }
}

@implementation @_cdecl("treadle_invocation_get_result")
public func treadle_invocation_get_result(
  _ invocation: treadle_invocation?, _ result: UnsafeMutableRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_invocation_get_result") { () throws(Failure) in
    try holding(invocation) { invocation throws(Failure) in
      try invocation.getResult(result, size: size)
      return Status.ok
    }
  }
}

@implementation @_cdecl("treadle_invocation_get_errno")
public func treadle_invocation_get_errno(
  _ invocation: treadle_invocation?, _ out_errno: UnsafeMutablePointer<Int32>?
) -> treadle_status {
  status("treadle_invocation_get_errno") { () throws(Failure) in
    let out = try need(out_errno, 0, "out_errno")
    return try holding(invocation) { invocation throws(Failure) in
      out.pointee = try invocation.getErrno()
      return Status.ok
    }
  }
}

// MARK: Performing

@implementation @_cdecl("treadle_invocation_perform")
public func treadle_invocation_perform(
  _ invocation: treadle_invocation?, _ options: UnsafePointer<treadle_invocation_options>?
) -> treadle_status {
  status("treadle_invocation_perform") { () throws(Failure) in
    let known = try ClientStruct.copyKnownPart(options, "options")
    guard known.completion != nil else {
      return try checkOutcome(perform(invocation, ClientStruct.copy(options, "options"), completion: nil))
    }
    return try takingOver(known.completion, "completion") { request, given throws(Failure) in
      if given.flags != 0 { throw Failure(Status.argument, "completion.flags", "is not 0") }
      if given.delay_ns != 0 { throw Failure(Status.argument, "completion.delay_ns", "is not 0") }
      if given.modes != nil { throw Failure(Status.argument, "completion.modes", "is given") }
      return try perform(invocation, ClientStruct.copy(options, "options"), completion: request)
    }
  }
}

/// Takes the completion over unless it throws.
private func perform(
  _ invocation: treadle_invocation?, _ options: treadle_invocation_options, completion: WorkItem?
) throws(Failure) -> Int32 {
  let wait = try checkedWait(options, hasCompletion: completion != nil)
  let modes = try requestModes(options.modes, options.mode_count)
  return try holding(invocation) { invocation throws(Failure) in
    try withTarget(options) { target throws(Failure) in
      if let modes, modes.isEmpty {
        invocation.droppedIfThreadEnds { completion?.dispose() }
        return Status.ignored
      }
      guard let completion else {
        return try invocation.perform(
          on: target, modes: modes, wait: wait, timeout: options.timeout_ns, completion: nil)
      }
      return try completion.performingLater { request throws(Failure) in
        let later = try makeLater(request, on: options.completion_loop)
        do throws(Failure) {
          return try invocation.perform(
            on: target, modes: modes, wait: wait, timeout: options.timeout_ns, completion: later)
        } catch {
          later.discard()
          throw error
        }
      }
    }
  }
}

private func checkedWait(
  _ options: treadle_invocation_options, hasCompletion: Bool
) throws(Failure) -> CarriedCall.Wait {
  if options.reserved != 0 { throw Failure(Status.argument, "options.reserved", "is not 0") }
  if options.loop != nil && options.thread != nil {
    throw Failure(Status.argument, "thread", "is given, and so is loop")
  }
  if options.completion_loop != nil && !hasCompletion {
    throw Failure(Status.argument, "completion_loop", "is given without a completion")
  }
  if options.timeout_ns < 0 { throw Failure(Status.argument, "timeout_ns", "is negative") }
  let wait: CarriedCall.Wait
  switch options.wait {
  case UInt32(TREADLE_WAIT_NONE):
    if options.timeout_ns != 0 { throw Failure(Status.argument, "timeout_ns", "is given without a wait") }
    return .none
  case UInt32(TREADLE_WAIT_BLOCK): wait = .block
  case UInt32(TREADLE_WAIT_RUNNING): wait = .running
  default: throw Failure(Status.argument, "wait", "is unknown")
  }
  if hasCompletion { throw Failure(Status.argument, "completion", "is given with a wait") }
  return wait
}

private func withTarget(
  _ options: treadle_invocation_options, _ body: (Invocation.Target) throws(Failure) -> Int32
) throws(Failure) -> Int32 {
  if options.loop != nil {
    return try Loop.holding(bits(options.loop), "loop") { loop throws(Failure) in try body(.loop(loop)) }
  }
  if options.thread != nil {
    return try Thread.holdingForCalls(options.thread) { thread throws(Failure) in try body(.thread(thread)) }
  }
  return try body(.caller)
}

private func makeLater(_ request: WorkItem, on loop: OpaquePointer?) throws(Failure) -> LaterRequest {
  if loop == nil { return try LaterRequest(request, on: Loop.current()) }
  return try Loop.holding(bits(loop), "completion_loop") { loop throws(Failure) in
    try LaterRequest(request, on: loop)
  }
}

private func holding(
  _ handle: treadle_invocation?, _ body: (Invocation) throws(Failure) -> Int32
) throws(Failure) -> Int32 {
  let invocation = try Invocation.retained(bits(handle))
  defer { invocation.drop() }
  return try body(invocation)
}

// MARK: The state

@implementation @_cdecl("treadle_invocation_cancel")
public func treadle_invocation_cancel(_ invocation: treadle_invocation?) -> treadle_status {
  status("treadle_invocation_cancel") { () throws(Failure) in
    try holding(invocation) { invocation throws(Failure) in
      invocation.droppedIfThreadEnds { invocation.cancel() } ? Status.ok : Status.ignored
    }
  }
}

@implementation @_cdecl("treadle_invocation_get_state")
public func treadle_invocation_get_state(
  _ invocation: treadle_invocation?, _ out_state: UnsafeMutablePointer<UInt32>?
) -> treadle_status {
  status("treadle_invocation_get_state") { () throws(Failure) in
    let out = try need(out_state, 0, "out_state")
    return try holding(invocation) { invocation throws(Failure) in
      out.pointee = invocation.phase
      return Status.ok
    }
  }
}
