// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Treadle
import TreadleBase

// The boundary between C and the core: every exported function goes through one of these. They resolve
// handles, turn the core's failures into statuses, and record the last error. No logic lives here.

/// Runs an exported function's body; a failure becomes its status, and the thread's last error.
@inline(__always)
func status(_ function: StaticString, _ body: () throws(Failure) -> Int32) -> Int32 {
  do throws(Failure) {
    return try body()
  } catch {
    record(error, function)
    return error.status
  }
}

/// The same for functions that answer something else than a status.
@inline(__always)
func answer<Value>(_ function: StaticString, _ otherwise: Value, _ body: () throws(Failure) -> Value) -> Value {
  do throws(Failure) {
    return try body()
  } catch {
    record(error, function)
    return otherwise
  }
}

/// Makes a failure the calling thread's last error.
@inline(never)
func record(_ failure: Failure, _ function: StaticString) {
  let last = treadle_system_failure()
  last.pointee.sequence &+= 1
  last.pointee.code = failure.status
  last.pointee.os_errno = failure.osError
  withUnsafeMutableBytes(of: &last.pointee.function) { room in
    var text = FixedText(room)
    text.append(function)
  }
  withUnsafeMutableBytes(of: &last.pointee.message) { room in
    var text = FixedText(room)
    text.append(failure.subject)
    text.append(" ")
    text.append(failure.text)
  }
}

/// Text in a buffer of fixed size: always ended with NUL, cut where there is no more room.
struct FixedText {
  private let room: UnsafeMutableRawBufferPointer
  /// How long the text would be with room enough.
  private(set) var length = 0

  init(_ room: UnsafeMutableRawBufferPointer) {
    self.room = room
    terminate()
  }

  private func terminate() {
    if room.count > 0 { room[min(length, room.count &- 1)] = 0 }
  }

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { append($0) }
  }

  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    for byte in bytes {
      if length &+ 1 < room.count { room[length] = byte }
      length &+= 1
    }
    terminate()
  }

  mutating func append(_ text: UnsafePointer<CChar>) {
    var next = text
    while next.pointee != 0 {
      if length &+ 1 < room.count { room[length] = UInt8(bitPattern: next.pointee) }
      length &+= 1
      next += 1
    }
    terminate()
  }

  mutating func append(_ number: Int64) {
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { buffer in
      var rest = number.magnitude
      var start = buffer.count
      repeat {
        start &-= 1
        buffer[start] = 48 &+ UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      if number < 0 {
        start &-= 1
        buffer[start] = 45
      }
      let used = UnsafeRawBufferPointer(rebasing: buffer[start...])
      used.withMemoryRebound(to: UInt8.self) { append($0) }
    }
  }
}

/// A client's buffer for text, and where its full length goes.
func writeText(
  _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ outLength: UnsafeMutablePointer<Int>?,
  _ body: (inout FixedText) throws(Failure) -> Void
) throws(Failure) -> Int32 {
  outLength?.pointee = 0
  if buffer == nil && capacity != 0 { throw Failure(Status.argument, "buffer", "is NULL, but capacity is not 0") }
  guard let outLength else { throw Failure(Status.argument, "out_length", "is NULL") }
  var text = FixedText(UnsafeMutableRawBufferPointer(start: buffer, count: buffer == nil ? 0 : capacity))
  try body(&text)
  outLength.pointee = text.length
  return Status.ok
}

/// An out-parameter that must be there; it is zeroed first.
@inline(__always)
func need<Value>(
  _ out: UnsafeMutablePointer<Value>?, _ zero: Value, _ subject: StaticString
) throws(Failure) -> UnsafeMutablePointer<Value> {
  guard let out else { throw Failure(Status.argument, subject, "is NULL") }
  out.pointee = zero
  return out
}

@inline(__always)
func bits(_ handle: OpaquePointer?) -> UInt { UInt(bitPattern: handle) }

@inline(__always)
func pointer(_ handle: Handle) -> OpaquePointer? { OpaquePointer(bitPattern: handle.bits) }

@inline(__always)
func needMode(_ mode: UnsafePointer<CChar>?) throws(Failure) -> ModeName {
  guard let mode else { throw Failure(Status.argument, "mode", "is NULL") }
  return ModeName(mode)
}

/// Memory of a client's struct, copied by the rule of `struct_size`: what the client's version does not
/// have counts as zero, and what this version does not know must be zero.
func copyStruct<Struct>(_ pointer: UnsafePointer<Struct>?, _ subject: StaticString) throws(Failure) -> Struct {
  let value = try copyKnownPart(pointer, subject)
  let bytes = UnsafeRawPointer(pointer)
  let size = structSize(bytes)
  var offset = MemoryLayout<Struct>.size
  while offset < size {
    if bytes?.load(fromByteOffset: offset, as: UInt8.self) != 0 {
      throw Failure(Status.tooNew, subject, "has members that this version does not know, and they are not zero")
    }
    offset &+= 1
  }
  return value
}

/// The part that this version knows, of a struct that may be too new: for those who must call its destroy.
func copyKnownPart<Struct>(_ pointer: UnsafePointer<Struct>?, _ subject: StaticString) throws(Failure) -> Struct {
  guard let pointer else { throw Failure(Status.argument, subject, "is NULL") }
  let size = structSize(UnsafeRawPointer(pointer))
  if size < MemoryLayout<Struct>.size || size > 4096 {
    throw Failure(Status.argument, subject, "has a struct_size that no version of this struct had")
  }
  return pointer.pointee
}

private func structSize(_ bytes: UnsafeRawPointer?) -> Int { bytes?.load(as: Int.self) ?? 0 }
