// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleCalls

// MARK: Signatures

@implementation @_cdecl("treadle_signature_parse")
public func treadle_signature_parse(
  _ encoding: UnsafePointer<CChar>?, _ out_signature: UnsafeMutablePointer<treadle_signature?>?
) -> treadle_status {
  status("treadle_signature_parse") { place throws(Failure) in
    let out = try need(out_signature, nil, "out_signature")
    try Runtime.start()
    out.pointee = pointer(try internSignature(encoding, "encoding", &place).handle)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_signature_get_argument_count")
public func treadle_signature_get_argument_count(
  _ signature: treadle_signature?, _ out_count: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_signature_get_argument_count") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    out.pointee = try SignatureTable.find(bits(signature), "signature").argumentCount
    return Status.ok
  }
}

@implementation @_cdecl("treadle_signature_get_layout")
public func treadle_signature_get_layout(
  _ signature: treadle_signature?, _ index: Int32, _ out_size: UnsafeMutablePointer<Int>?,
  _ out_alignment: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_signature_get_layout") { () throws(Failure) in
    out_alignment?.pointee = 0
    let outSize = try need(out_size, 0, "out_size")
    let outAlignment = try need(out_alignment, 0, "out_alignment")
    let signature = try SignatureTable.find(bits(signature), "signature")
    guard let value = index == -1 ? signature.result : signature.argument(Int(index)) else {
      throw Failure(Status.range, "index", "is not an argument of the signature")
    }
    outSize.pointee = value.layout.size
    outAlignment.pointee = value.layout.alignment
    return Status.ok
  }
}

@implementation @_cdecl("treadle_signature_describe")
public func treadle_signature_describe(
  _ signature: treadle_signature?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_signature_describe") { () throws(Failure) in
    let out = try need(out_length, 0, "out_length")
    let signature = try SignatureTable.find(bits(signature), "signature")
    let room = UnsafeMutableRawBufferPointer(try ClientBuffer(buffer, capacity).elements)
    var writer = TextWriter(room.bindMemory(to: UInt8.self))
    do throws(SignatureError) {
      try signature.describe(to: &writer)
    } catch {
      throw Failure.noMemory("text")
    }
    writer.terminate()
    out.pointee = writer.length
    return Status.ok
  }
}

/// The signature that a C string means. After a refusal `place` is where the text is wrong.
func internSignature(
  _ encoding: UnsafePointer<CChar>?, _ subject: StaticString, _ place: inout Place?
) throws(Failure) -> (signature: Signature, handle: Handle) {
  guard let encoding else { throw Failure(Status.argument, subject, "is NULL") }
  // One character too many is enough to be refused.
  var length = 0
  while length <= EncodingLimits.length, encoding[length] != 0 { length &+= 1 }
  let text = UnsafeRawBufferPointer(start: encoding, count: length).bindMemory(to: UInt8.self)
  do throws(SignatureError) {
    return try SignatureTable.intern(text)
  } catch {
    switch error {
    case .refused(let offset, let reason):
      place = .offset(offset)
      throw Failure(Status.signature, subject, reason)
    case .noMemory: throw Failure.noMemory(subject)
    case .tableFull: throw Failure(Status.noMemory, subject, "cannot be kept: there are 65,536 signatures already")
    }
  }
}

/// What a failure's text is told besides its reason.
enum Place {
  case offset(Int)
  case argument(Int)
}

/// Completes the text of the failure that was just recorded.
func add(_ place: Place) {
  switch place {
  case .offset(let offset): LastError.add("at offset ", offset)
  case .argument(let index): LastError.add("argument ", index)
  }
}

// MARK: Routines

@implementation @_cdecl("treadle_routine_create")
public func treadle_routine_create(
  _ config: UnsafePointer<treadle_routine_config>?, _ out_routine: UnsafeMutablePointer<treadle_routine?>?
) -> treadle_status {
  status("treadle_routine_create") { place throws(Failure) in
    out_routine?.pointee = nil
    let known = try ClientStruct.copyKnownPart(config, "config")
    do throws(Failure) {
      let out = try need(out_routine, nil, "out_routine")
      _ = try ClientStruct.copy(config, "config")
      try Runtime.start()
      out.pointee = pointer(try Scope.making { () throws(Failure) in try makeRoutine(known, &place) })
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
    return Status.ok
  }
}

private func makeRoutine(_ config: treadle_routine_config, _ place: inout Place?) throws(Failure) -> Handle {
  guard let code = config.code else { throw Failure(Status.argument, "code", "is NULL") }
  let signature = try internSignature(config.signature, "signature", &place).signature
  guard config.argument_count == signature.argumentCount else {
    throw Failure(Status.argument, "argument_count", "is not the number of the signature's arguments")
  }
  var builder = try RoutineBuilder(signature, code: code)
  do throws(Failure) {
    for index in 0..<signature.argumentCount {
      guard let arguments = config.arguments else { throw Failure(Status.argument, "arguments", "is NULL") }
      place = .argument(index)
      try add(arguments[index], to: &builder)
    }
    place = nil
    return try builder.finish(destroy: config.destroy, info: config.info)
  } catch {
    builder.discard()
    throw error
  }
}

private func add(_ argument: treadle_argument, to builder: inout RoutineBuilder) throws(Failure) {
  guard argument.reserved == 0 else { throw Failure(Status.argument, "arguments[].reserved", "is not 0") }
  guard let source = ArgumentSource(rawValue: argument.kind) else {
    throw Failure(Status.argument, "arguments[].kind", "is unknown")
  }
  if source == .bound {
    guard let value = argument.value else { throw Failure(Status.argument, "arguments[].value", "is NULL") }
    try builder.bind(value, size: argument.size)
  } else {
    guard argument.value == nil, argument.size == 0 else {
      throw Failure(Status.argument, "arguments[].value", "is given for what the event supplies")
    }
    try builder.supply(source)
  }
}

@implementation @_cdecl("treadle_routine_call")
public func treadle_routine_call(
  _ routine: treadle_routine?, _ event: UnsafePointer<treadle_event>?, _ result: UnsafeMutableRawPointer?,
  _ result_size: Int
) -> treadle_status {
  status("treadle_routine_call") { () throws(Failure) in
    let routine = try Routine.retained(bits(routine), "routine")
    defer { routine.drop() }
    guard result_size == 0 || result_size == routine.result.layout.size else {
      throw Failure(Status.range, "result_size", "is neither 0 nor the size of the result's type")
    }
    guard result != nil || result_size == 0 else { throw Failure(Status.argument, "result", "is NULL") }
    let result = result_size == 0 ? nil : result
    guard let event, ClientStruct.size(event) < MemoryLayout<treadle_event>.size else {
      try call(routine, event, result)
      return Status.ok
    }
    // What an older version does not have is zero.
    var known = try ClientStruct.copyKnownPart(event, "event")
    known.struct_size = MemoryLayout<treadle_event>.size
    try withUnsafePointer(to: known) { known throws(Failure) in try call(routine, known, result) }
    return Status.ok
  }
}

/// The two structs are one: the C header's and the core's.
private func call(_ routine: Routine, _ event: UnsafePointer<treadle_event>?, _ result: UnsafeMutableRawPointer?)
  throws(Failure)
{
  if !routine.call(UnsafeRawPointer(event)?.assumingMemoryBound(to: Event.self), result: result) {
    throw Routine.closedFailure("routine")
  }
}

/// The routine that a context names, as the core's items see it, with a reference that the item owns and
/// gives up with the callback's `drop`.
func resolveRoutine(_ routine: OpaquePointer, _ subject: StaticString) throws(Failure) -> IndirectCallback {
  try Routine.retained(bits(routine), subject).indirect()
}
