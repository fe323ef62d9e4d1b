// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import Treadle

/// One call through libffi, with all it needs on the stack: room for the result, a copy of the frame (a
/// callee may own large structs, and calls of one routine may overlap), and pointers to the arguments.
struct ForeignCall {
  private let body: UnsafeMutablePointer<RoutineBody>
  private let event: UnsafePointer<Event>?
  private let result: UnsafeMutableRawPointer?

  static func perform(
    _ body: UnsafeMutablePointer<RoutineBody>, _ event: UnsafePointer<Event>?, result: UnsafeMutableRawPointer?
  ) {
    let signature = body.pointee.signature
    let size =
      ForeignResult.room(for: signature.result.layout) &+ TypeLayout.align(signature.frameSize, to: 16)
      &+ signature.argumentCount &* MemoryLayout<UnsafeMutableRawPointer?>.stride
    var call = ForeignCall(body: body, event: event, result: result)
    treadle_ffi_with_stack(
      size,
      { memory, context in
        guard let memory, let context else { return }
        context.assumingMemoryBound(to: ForeignCall.self).pointee.perform(in: memory)
      }, &call)
  }

  private func perform(in memory: UnsafeMutableRawPointer) {
    let signature = body.pointee.signature
    let frame = memory + ForeignResult.room(for: signature.result.layout)
    let pointers = (frame + TypeLayout.align(signature.frameSize, to: 16))
      .bindMemory(to: UnsafeMutableRawPointer?.self, capacity: signature.argumentCount)
    frame.copyMemory(from: body.pointee.frame, byteCount: signature.frameSize)
    if let event { body.pointee.fill(frame, from: event) }
    for index in 0..<signature.argumentCount {
      (pointers + index).initialize(to: frame + signature.body.pointee.values[index].offset)
    }
    ffi_call(&signature.body.pointee.cif, body.pointee.code, memory, pointers)
    if let result { ForeignResult.copy(signature.result, from: memory, to: result) }
  }
}
