// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleCalls
import TreadlePorts

@implementation @_cdecl("treadle_message_port_create_local")
public func treadle_message_port_create_local(
  _ name: UnsafePointer<CChar>?, _ context: UnsafePointer<treadle_message_port_context>?,
  _ out_port: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_message_port_create_local") { place throws(Failure) in
    let out = try need(out_port, nil, "out_port")
    let context = try ClientStruct.copy(context, "context")
    try refuseUnless(context.owner == 0, "owner", "is for remote ports")
    try refuseUnless(context.has_owner == 0, "has_owner", "is for remote ports")
    if context.user_count < 0 || context.user_count > 1024 {
      throw Failure(Status.range, "user_count", "is more than 1,024")
    }
    try refuseUnless(context.users != nil || context.user_count == 0, "users", "is NULL, but user_count is not 0")
    if context.function_count < 0 || context.function_count > 1024 {
      throw Failure(Status.range, "function_count", "is more than 1,024")
    }
    try refuseUnless(
      context.functions != nil || context.function_count == 0, "functions", "is NULL, but function_count is not 0")
    return try create(name, context, isRemote: false, out, &place)
  }
}

@implementation @_cdecl("treadle_message_port_create_remote")
public func treadle_message_port_create_remote(
  _ name: UnsafePointer<CChar>?, _ context: UnsafePointer<treadle_message_port_context>?,
  _ out_port: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_message_port_create_remote") { place throws(Failure) in
    let out = try need(out_port, nil, "out_port")
    var known = treadle_message_port_context()
    if context != nil { known = try ClientStruct.copy(context, "context") }
    try refuseUnless(name != nil, "name", "is NULL")
    try refuseUnless(known.receive == nil, "receive", "is for local ports")
    try refuseUnless(known.users == nil && known.user_count == 0, "users", "is for local ports")
    try refuseUnless(known.functions == nil && known.function_count == 0, "functions", "is for local ports")
    try refuseUnless(known.has_owner <= 1, "has_owner", "is neither 0 nor 1")
    try refuseUnless(known.owner == 0 || known.has_owner == 1, "owner", "is given, but has_owner is 0")
    return try create(name, known, isRemote: true, out, &place)
  }
}

private func refuseUnless(_ isGood: Bool, _ subject: StaticString, _ text: StaticString) throws(Failure) {
  if !isGood { throw Failure(Status.argument, subject, text) }
}

/// The port of that name which this process has, or a new one.
private func create(
  _ name: UnsafePointer<CChar>?, _ context: treadle_message_port_context, isRemote: Bool,
  _ out: UnsafeMutablePointer<OpaquePointer?>, _ place: inout Place?
) throws(Failure) -> Int32 {
  let owner = context.has_owner == 1 ? context.owner : nil
  let host = try hostOf(context.host, context.token)
  try checkLabel(context.label)
  while try !giveExisting(name, owner, isRemote, out) {
    var functions = try exportedFunctions(context, &place)
    do throws(Failure) {
      out.pointee = pointer(
        try Scope.making(in: bits(context.scope)) { () throws(Failure) in
          try makePort(name, context, &functions, host, owner, isRemote)
        })
      return Status.ok
    } catch {
      free(functions)
      // Another thread of this process has been quicker: its port is found now, unless it was given up or has ended
      // since.
      if error.status != Status.ignored { throw error }
    }
  }
  return Status.ignored
}

private func giveExisting(
  _ name: UnsafePointer<CChar>?, _ owner: UInt32?, _ isRemote: Bool, _ out: UnsafeMutablePointer<OpaquePointer?>
) throws(Failure) -> Bool {
  let existing = try MessagePort.existing(name, of: owner, isRemote: isRemote)
  if existing == 0 { return false }
  out.pointee = OpaquePointer(bitPattern: existing)
  return true
}

private func makePort(
  _ name: UnsafePointer<CChar>?, _ context: treadle_message_port_context, _ functions: inout Buffer<ExportedFunction>,
  _ host: Host?,
  _ owner: UInt32?, _ isRemote: Bool
) throws(Failure) -> Handle {
  var plan = MessagePort.Plan()
  plan.owner = owner
  plan.receive = unsafeBitCast(context.receive, to: MessagePort.Receive?.self)
  plan.invalidated = context.invalidated
  plan.users = UnsafeBufferPointer(start: context.users, count: Int(context.user_count))
  plan.host = host
  plan.token = context.token
  if host != nil { try refuse(context.invalidated != nil, "invalidated") }
  var made = try Context(
    host, context.token, info: context.info, retain: context.retain, release: context.release,
    describe: context.describe,
    order: 0, label: context.label, main: (context.receive != nil, nil), "receive", "receive")
  var handle: Handle?
  _ = try made.making { made throws(Failure) in
    plan.functions = functions
    functions = Buffer()
    let item =
      try isRemote
      ? MessagePort.makeRemote(name, plan, made, info: context.info)
      : MessagePort.makeLocal(name, plan, made, info: context.info)
    handle = item.handle
    return item
  }
  guard let handle else { throw Failure.noMemory("port") }
  return handle
}

/// What the senders to a new port may call; its owner frees it.
private func exportedFunctions(
  _ context: treadle_message_port_context, _ place: inout Place?
) throws(Failure) -> Buffer<ExportedFunction> {
  var functions = Buffer<ExportedFunction>()
  guard let given = context.functions else { return functions }
  do throws(Failure) {
    for index in 0..<Int(context.function_count) {
      place = .argument(index)
      guard let code = given[index].code else {
        throw Failure(Status.argument, "functions", "has one whose code is NULL")
      }
      let signature = try internSignature(given[index].signature, "signature", &place).signature
      place = .argument(index)
      let function = try ExportedFunction(given[index].name, signature, code)
      if !functions.append(function) {
        function.free()
        throw Failure.noMemory("functions")
      }
    }
    place = nil
    return functions
  } catch {
    free(functions)
    throw error
  }
}

private func free(_ functions: Buffer<ExportedFunction>) {
  var functions = functions
  for function in functions.elements { function.free() }
  functions.free()
}

@implementation @_cdecl("treadle_message_port_is_remote")
public func treadle_message_port_is_remote(_ port: OpaquePointer?) -> Bool {
  answer("treadle_message_port_is_remote", false) { () throws(Failure) in try MessagePort.isRemote(bits(port)) }
}

@implementation @_cdecl("treadle_message_port_get_name")
public func treadle_message_port_get_name(
  _ port: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_message_port_get_name") { () throws(Failure) in
    try writeText(buffer, capacity, out_length) { text throws(Failure) in
      var written = text
      try MessagePort.getName(bits(port), &written)
      text = written
    }
  }
}

@implementation @_cdecl("treadle_message_port_set_name")
public func treadle_message_port_set_name(_ port: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> treadle_status {
  status("treadle_message_port_set_name") { () throws(Failure) in
    try MessagePort.rename(bits(port), name) ? Status.ok : Status.ignored
  }
}

@implementation @_cdecl("treadle_message_port_set_invalidated")
public func treadle_message_port_set_invalidated(
  _ port: OpaquePointer?, _ invalidated: treadle_message_port_invalidated_fn?
) -> treadle_status {
  status("treadle_message_port_set_invalidated") { () throws(Failure) in
    // A port of others that calls the function belongs to the scope from then on.
    if invalidated == nil {
      try MessagePort.setInvalidated(bits(port), invalidated)
    } else {
      _ = try Scope.making { () throws(Failure) in
        try MessagePort.setInvalidated(bits(port), invalidated)
        return Handle(bits: bits(port))
      }
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_message_port_check")
public func treadle_message_port_check(_ port: OpaquePointer?) -> treadle_status {
  status("treadle_message_port_check") { () throws(Failure) in
    try MessagePort.check(bits(port))
    return Status.ok
  }
}

@implementation @_cdecl("treadle_message_port_send")
public func treadle_message_port_send(
  _ port: OpaquePointer?, _ id: Int32, _ data: UnsafeRawPointer?, _ size: Int, _ timeout_ns: Int64
) -> treadle_status {
  status("treadle_message_port_send") { () throws(Failure) in
    try MessagePort.send(bits(port), id: id, data, size, timeout: timeout_ns)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_message_port_request")
public func treadle_message_port_request(
  _ port: OpaquePointer?, _ id: Int32, _ data: UnsafeRawPointer?, _ size: Int, _ send_timeout_ns: Int64,
  _ reply_timeout_ns: Int64, _ mode: UnsafePointer<CChar>?, _ reply: treadle_message_port_reply_fn?,
  _ info: UnsafeMutableRawPointer?
) -> treadle_status {
  status("treadle_message_port_request") { () throws(Failure) in
    let request = MessagePort.Request(
      id: id, data: data, size: size, sendTimeout: send_timeout_ns, replyTimeout: reply_timeout_ns,
      mode: try needMode(mode),
      reply: reply, info: info)
    try MessagePort.request(bits(port), request)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_message_port_reply")
public func treadle_message_port_reply(_ call: UInt64, _ data: UnsafeRawPointer?, _ size: Int) -> treadle_status {
  status("treadle_message_port_reply") { () throws(Failure) in
    try MessagePort.reply(call, data, size) ? Status.ok : Status.ignored
  }
}

@implementation @_cdecl("treadle_port_call")
public func treadle_port_call(
  _ port: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ signature: UnsafePointer<CChar>?,
  _ arguments: UnsafePointer<treadle_port_value>?, _ argument_count: Int, _ result: UnsafeMutableRawPointer?,
  _ result_size: Int,
  _ timeout_ns: Int64, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_port_call") { place throws(Failure) in
    try Runtime.start()
    let function = try PortableSignature(internSignature(signature, "signature", &place).signature)
    defer { function.free() }
    try refuseUnless(arguments != nil || argument_count == 0, "arguments", "is NULL, but argument_count is not 0")
    if result_size != function.resultSize && !(result == nil && result_size == 0) {
      throw Failure(Status.range, "result_size", "is not the size of the signature's result")
    }
    // As many as a signature can have, and one too many to be refused.
    let count = max(0, min(argument_count, 33))
    let values = UnsafeRawPointer(arguments).map { $0.assumingMemoryBound(to: PortableValue.self) }
    let call = MessagePort.FunctionCall(
      name: name, function, UnsafeBufferPointer(start: values, count: values == nil ? 0 : count), result: result,
      timeout: timeout_ns,
      mode: try needMode(mode))
    var at: Int?
    do throws(Failure) {
      try MessagePort.call(bits(port), call, at: &at)
    } catch {
      place = at.map { Place.argument($0) }
      throw error
    }
    return Status.ok
  }
}
