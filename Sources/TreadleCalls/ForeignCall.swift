// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import TreadleCore

/// One call through libffi, with all it needs on the stack: room for the result, a copy of the frame (a
/// callee may own large structs, and calls of one routine may overlap), and pointers to the arguments.
struct ForeignCall {
  private let signature: Signature
  private let code: DirectShape.Code
  private let frame: UnsafeRawPointer
  private let result: UnsafeMutableRawPointer?
  /// What an event supplies of the arguments, and the event.
  private let routine: UnsafeMutablePointer<RoutineBody>?
  private let event: UnsafePointer<Event>?

  /// Calls a routine. `result` has room for the result's type; nil drops the result.
  static func perform(
    _ body: UnsafeMutablePointer<RoutineBody>, _ event: UnsafePointer<Event>?, result: UnsafeMutableRawPointer?
  ) {
    let call = ForeignCall(
      signature: body.pointee.signature, code: body.pointee.code, frame: body.pointee.frame, result: result,
      routine: body, event: event)
    call.perform()
  }

  /// Calls a function with a frame that is complete.
  static func perform(
    _ signature: Signature, _ code: DirectShape.Code, _ frame: UnsafeRawPointer, result: UnsafeMutableRawPointer?
  ) {
    let call = ForeignCall(
      signature: signature, code: code, frame: frame, result: result, routine: nil, event: nil)
    call.perform()
  }

  private func perform() {
    let size =
      ForeignResult.room(for: signature.result.layout) &+ TypeLayout.align(signature.frameSize, to: 16)
      &+ (signature.argumentCount &+ 1) &* MemoryLayout<UnsafeMutableRawPointer?>.stride
      &+ ForeignReference.room(signature)
    var call = self
    treadle_ffi_with_stack(
      size,
      { memory, context in
        guard let memory, let context else { return }
        context.assumingMemoryBound(to: ForeignCall.self).pointee.perform(in: memory)
      }, &call)
  }

  private func perform(in memory: UnsafeMutableRawPointer) {
    let copy = memory + ForeignResult.room(for: signature.result.layout)
    let pointers = (copy + TypeLayout.align(signature.frameSize, to: 16))
      .bindMemory(to: UnsafeMutableRawPointer?.self, capacity: signature.argumentCount &+ 1)
    copy.copyMemory(from: frame, byteCount: signature.frameSize)
    if let event, let routine { routine.pointee.fill(copy, from: event) }
    for index in 0..<signature.argumentCount {
      (pointers + index).initialize(to: copy + signature.body.pointee.values[index].offset)
    }
    ForeignReference.refer(signature, pointers, pointers + (signature.argumentCount &+ 1))
    if let split = signature.body.pointee.split {
      performSplit(split, pointers, in: memory)
    } else {
      ffi_call(&signature.body.pointee.cif, code, memory, pointers)
    }
    if let result { ForeignResult.copy(signature.result, from: memory, to: result) }
  }

  /// The list has room for one more.
  private func performSplit(
    _ split: UnsafeMutablePointer<ForeignSplit>, _ pointers: UnsafeMutablePointer<UnsafeMutableRawPointer?>,
    in memory: UnsafeMutableRawPointer
  ) {
    var index = signature.argumentCount
    while index > split.pointee.index &+ 1 {
      pointers[index] = pointers[index &- 1]
      index &-= 1
    }
    pointers[index] = pointers[split.pointee.index].map { $0 + ForeignSplit.half }
    ffi_call(&split.pointee.type, code, memory, pointers)
  }
}
