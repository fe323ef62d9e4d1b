// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleCalls

@implementation @_cdecl("treadle_closure_create")
public func treadle_closure_create(
  _ config: UnsafePointer<treadle_closure_config>?, _ out_closure: UnsafeMutablePointer<treadle_closure?>?
) -> treadle_status {
  status("treadle_closure_create") { place throws(Failure) in
    out_closure?.pointee = nil
    let known = try ClientStruct.copyKnownPart(config, "config")
    do throws(Failure) {
      let out = try need(out_closure, nil, "out_closure")
      _ = try ClientStruct.copy(config, "config")
      try Runtime.start()
      out.pointee = pointer(
        try Scope.making(in: bits(known.scope)) { () throws(Failure) in try makeClosure(known, &place) })
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
    return Status.ok
  }
}

private func makeClosure(_ config: treadle_closure_config, _ place: inout Place?) throws(Failure) -> Handle {
  if let host = try hostOf(config.host, config.token) {
    try refuse(config.handler != nil, "handler")
    try refuse(config.info != nil, "info")
    try refuse(config.destroy != nil, "destroy")
    return try host.registeringCall { () throws(Failure) in
      try makeClosure(config, ClosureHandler(host, token: config.token), &place)
    }
  }
  guard let handler = config.handler else { throw Failure(Status.argument, "handler", "is NULL") }
  let function = unsafeBitCast(handler, to: ClosureHandler.Function.self)
  return try makeClosure(config, ClosureHandler(function, info: config.info, destroy: config.destroy), &place)
}

private func makeClosure(
  _ config: treadle_closure_config, _ handler: ClosureHandler, _ place: inout Place?
) throws(Failure) -> Handle {
  if config.delivery > UInt32(TREADLE_DELIVERY_RUNNING) { throw Failure(Status.argument, "delivery", "is unknown") }
  guard let whenFull = CarrierPlan.WhenFull(rawValue: config.on_full) else {
    throw Failure(Status.argument, "on_full", "is unknown")
  }
  let mayAllocate = UInt32(TREADLE_CLOSURE_MAY_ALLOCATE)
  let keepsCode = UInt32(TREADLE_CLOSURE_KEEP_CODE)
  if config.flags & ~(mayAllocate | keepsCode) != 0 { throw Failure(Status.argument, "flags", "has unknown flags") }
  if config.timeout_ns < 0 { throw Failure(Status.argument, "timeout_ns", "is negative") }
  if config.queue_limit > 1_048_576 { throw Failure(Status.range, "queue_limit", "is above 1,048,576") }
  let modes = try checkTarget(config, whenFull)
  let signature = try internSignature(config.signature, "signature", &place).signature
  try checkSignature(signature, &place)
  var plan = ClosurePlan(signature, handler)
  plan.mayAllocate = config.flags & mayAllocate != 0
  plan.keepsCode = config.flags & keepsCode != 0
  let isGiven = config.default_result != nil
  guard config.default_result_size == (isGiven ? signature.result.layout.size : 0) else {
    throw Failure(Status.range, "default_result_size", "is not the size of the signature's result, or of nothing")
  }
  plan.defaultResult = config.default_result
  if isInline(config) { return try Closure.create(plan).handle }
  let loop = try holdTarget(config)
  defer { loop.letGo() }
  plan.carrier = CarrierPlan(
    loop, wait: signature.result.qualifiers.isOneway ? .none : wait(config), modes: modes, timeout: config.timeout_ns,
    limit: config.queue_limit == 0 ? 1024 : config.queue_limit, whenFull: whenFull)
  return try Closure.create(plan).handle
}

private func isInline(_ config: treadle_closure_config) -> Bool { config.delivery == UInt32(TREADLE_DELIVERY_INLINE) }

/// How callers wait who are not answered inline.
private func wait(_ config: treadle_closure_config) -> CarriedCall.Wait {
  switch config.delivery {
  case UInt32(TREADLE_DELIVERY_SYNC): .block
  case UInt32(TREADLE_DELIVERY_RUNNING): .running
  default: .none
  }
}

/// The modes in which calls are delivered; nil for the common ones and the call mode.
private func checkTarget(
  _ config: treadle_closure_config, _ whenFull: CarrierPlan.WhenFull
) throws(Failure) -> ModeNames? {
  if isInline(config) {
    guard config.loop == nil, config.thread == nil else {
      throw Failure(Status.argument, "loop", "or thread is given, but the calling thread handles the calls")
    }
    guard config.modes == nil, config.mode_count == 0 else {
      throw Failure(Status.argument, "modes", "are given, but the calling thread handles the calls")
    }
    return nil
  }
  if config.loop != nil && config.thread != nil { throw Failure(Status.argument, "loop", "is given, and so is thread") }
  if config.loop == nil && config.thread == nil { throw Failure(Status.argument, "loop", "is NULL, and so is thread") }
  if whenFull == .coalesce && wait(config) != .none {
    throw Failure(Status.argument, "on_full", "coalesces calls, but their callers wait for results")
  }
  guard let modes = try requestModes(config.modes, config.mode_count) else { return nil }
  if modes.isEmpty { throw Failure(Status.argument, "modes", "is an empty list") }
  for name in modes {
    guard let name else { throw Failure(Status.argument, "modes", "contains NULL") }
    if !UTF8Text.isWellFormed(name) { throw Failure(Status.argument, "modes", "contains a name that is not UTF-8") }
  }
  return modes
}

private func checkSignature(_ signature: Signature, _ place: inout Place?) throws(Failure) {
  if signature.isVariadic { throw Failure(Status.signature, "signature", "is variadic, which a closure cannot be") }
  var index = 0
  while let argument = signature.argument(index) {
    if argument.qualifiers.isByCopy && argument.code != .string {
      place = .argument(index)
      throw Failure(Status.signature, "signature", "has O (by copy) before a pointer that is not a C string")
    }
    index &+= 1
  }
}

/// The loop that calls are carried to, held.
private func holdTarget(_ config: treadle_closure_config) throws(Failure) -> Loop {
  if config.loop != nil {
    let loop = try Loop.hold(bits(config.loop), "loop")
    if loop.isAlive { return loop }
    loop.letGo()
    throw Failure(Status.closed, "loop", "is that of a thread that has finished")
  }
  return try Thread.holding(config.thread) { thread throws(Failure) in try thread.holdLoopForCalls() }
}

@implementation @_cdecl("treadle_closure_get_code")
public func treadle_closure_get_code(
  _ closure: treadle_closure?, _ out_code: UnsafeMutablePointer<(@convention(c) () -> Void)?>?
) -> treadle_status {
  status("treadle_closure_get_code") { () throws(Failure) in
    let out = try need(out_code, nil, "out_code")
    let closure = try Closure.retained(bits(closure))
    defer { closure.drop() }
    out.pointee = unsafeBitCast(closure.code, to: (@convention(c) () -> Void)?.self)
    return Status.ok
  }
}

// MARK: What is known

@implementation @_cdecl("treadle_closure_get_info")
public func treadle_closure_get_info(
  _ closure: treadle_closure?, _ out_info: UnsafeMutablePointer<treadle_closure_info>?
) -> treadle_status {
  status("treadle_closure_get_info") { () throws(Failure) in
    try ClientStruct.fill(out_info, "out_info") { out throws(Failure) in
      let closure = try Closure.retained(bits(closure))
      defer { closure.drop() }
      let info = closure.info
      out.state = info.state
      out.waiting = info.waiting
      out.handled = info.handled
      out.failed = info.failed
      out.dropped = info.dropped
      out.timed_out = info.timedOut
      out.after_invalidated = info.late
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_closure_pool_get_info")
public func treadle_closure_pool_get_info(
  _ out_info: UnsafeMutablePointer<treadle_closure_pool_info>?
) -> treadle_status {
  status("treadle_closure_pool_get_info") { () throws(Failure) in
    try ClientStruct.fill(out_info, "out_info") { out throws(Failure) in
      try Runtime.start()
      let counts = ClosurePool.counts
      out.capacity = counts.capacity
      out.used = counts.used
      out.drained = counts.retired
      out.allocated = counts.allocated
      out.after_invalidated = counts.lateCalls
      withUnsafeMutableBytes(of: &out.libffi) { room in
        var text = FixedText(room)
        text.append(ClosurePool.library)
      }
    }
    return Status.ok
  }
}

// MARK: Inside a handler

@implementation @_cdecl("treadle_call_get_argument")
public func treadle_call_get_argument(
  _ call: UnsafePointer<treadle_call>?, _ index: Int, _ value: UnsafeMutableRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_call_get_argument") { () throws(Failure) in
    guard let call else { throw Failure(Status.argument, "call", "is NULL") }
    guard let value else { throw Failure(Status.argument, "value", "is NULL") }
    let signature = try SignatureTable.find(bits(call.pointee.signature), "call->signature")
    guard let argument = signature.argument(index), let bytes = call.pointee.arguments?[index] else {
      throw Failure(Status.range, "index", "is not an argument of the signature")
    }
    guard size == argument.layout.size else {
      throw Failure(Status.range, "size", "is not the size of the signature's type")
    }
    value.copyMemory(from: bytes, byteCount: size)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_call_set_result")
public func treadle_call_set_result(
  _ call: UnsafeMutablePointer<treadle_call>?, _ value: UnsafeRawPointer?, _ size: Int
) -> treadle_status {
  status("treadle_call_set_result") { () throws(Failure) in
    guard let call else { throw Failure(Status.argument, "call", "is NULL") }
    let signature = try SignatureTable.find(bits(call.pointee.signature), "call->signature")
    guard size == signature.result.layout.size else {
      throw Failure(Status.range, "size", "is not the size of the signature's result")
    }
    guard size > 0, let room = call.pointee.result else { return Status.ok }
    guard let value else { throw Failure(Status.argument, "value", "is NULL") }
    room.copyMemory(from: value, byteCount: size)
    return Status.ok
  }
}
