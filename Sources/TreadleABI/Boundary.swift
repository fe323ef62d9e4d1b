// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleCore
import TreadleBase
import TreadleReport

// The boundary between C and the core: every exported function goes through one of these. They resolve
// handles, turn the core's failures into statuses, and record the last error. No logic lives here.

/// Runs an exported function's body; a failure becomes its status, and the thread's last error.
@inline(__always)
func status(_ function: StaticString, _ body: () throws(Failure) -> Int32) -> Int32 {
  do throws(Failure) {
    return try body()
  } catch {
    refuse(error, in: function)
    return error.status
  }
}

/// Runs the body of a function that a signal handler may call: a failure becomes its status and nothing else. Neither
/// the interrupted thread's last error nor the log, which has a lock, may be touched (OBJ-10).
@inline(__always)
func signalSafeStatus(_ body: () throws(Failure) -> Void) -> Int32 {
  do throws(Failure) {
    try body()
    return Status.ok
  } catch {
    return error.status
  }
}

/// Runs the body of an exported function that parses a signature: where that is refused completes the failure's text.
@inline(__always)
func status(_ function: StaticString, _ body: (inout Place?) throws(Failure) -> Int32) -> Int32 {
  var place: Place?
  do throws(Failure) {
    return try body(&place)
  } catch {
    refuse(error, in: function, place)
    return error.status
  }
}

/// Runs the body of an exported function that answers something else than a status.
@inline(__always)
func answer<Value>(_ function: StaticString, _ otherwise: Value, _ body: () throws(Failure) -> Value) -> Value {
  do throws(Failure) {
    return try body()
  } catch {
    refuse(error, in: function)
    return otherwise
  }
}

@inline(never)
private func refuse(_ failure: Failure, in function: StaticString, _ place: Place? = nil) {
  LastError.record(failure, in: function)
  if let place { add(place) }
  if Watch.isTelling { Log.tellRefusal(failure, in: function, StatusText(failure.status).name) }
}

/// A client's buffer for text, and where its full length goes.
func writeText(
  _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ outLength: UnsafeMutablePointer<Int>?,
  _ body: (inout FixedText) throws(Failure) -> Void
) throws(Failure) -> Int32 {
  outLength?.pointee = 0
  let buffer = try ClientBuffer(buffer, capacity)
  guard let outLength else { throw Failure(Status.argument, "out_length", "is NULL") }
  var text = buffer.text
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

/// What a client calls an item; it is copied when the item is made.
func checkLabel(_ label: UnsafePointer<CChar>?) throws(Failure) {
  guard let label else { return }
  var length = 0
  while label[length] != 0 {
    length &+= 1
    if length > 255 { throw Failure(Status.range, "label", "is longer than 255 bytes") }
  }
  if !UTF8Text.isWellFormed(label) { throw Failure(Status.argument, "label", "is not UTF-8") }
}
