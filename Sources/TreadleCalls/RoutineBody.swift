// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
import TreadleBase

/// What a routine consists of, in one block with its frame and its list of supplied arguments. Constant
/// once the routine has a handle.
struct RoutineBody {
  typealias Destroy = Destroying.Function

  let signature: Signature
  var code: DirectShape.Code
  var destroy: Destroy?
  var info: UnsafeMutableRawPointer?
  /// The arguments, each at its signature's offset: bound ones with their bytes, the others 0.
  let frame: UnsafeMutableRawPointer
  /// Those that the event supplies.
  let supplied: UnsafeMutablePointer<SuppliedArgument>
  var suppliedCount: Int
  /// The routine as a call that needs no event, if it is one; in the same block.
  var direct: UnsafePointer<DirectCall>?

  /// Overwrites the arguments that the event supplies, in a copy of the frame.
  @inline(__always)
  func fill(_ frame: UnsafeMutableRawPointer, from event: UnsafePointer<Event>) {
    for index in 0..<suppliedCount {
      let argument = supplied[index]
      argument.source.store(event, to: frame + argument.offset, size: argument.size)
    }
  }

  /// Calls the function. Nothing of the routine is looked at after it has begun: it may give its routine up.
  @inline(__always)
  static func call(
    _ body: UnsafeMutablePointer<RoutineBody>, _ event: UnsafePointer<Event>?, result: UnsafeMutableRawPointer?
  ) {
    if event == nil || body.pointee.suppliedCount == 0 {
      body.pointee.signature.call(body.pointee.code, body.pointee.frame, result: result)
    } else {
      call(body, with: event, result: result)
    }
  }

  /// A frame of the call's own, as calls of one routine may overlap.
  @inline(never)
  private static func call(
    _ body: UnsafeMutablePointer<RoutineBody>, with event: UnsafePointer<Event>?, result: UnsafeMutableRawPointer?
  ) {
    let signature = body.pointee.signature
    guard let event, signature.isDirect else {
      ForeignCall.perform(body, event, result: result)
      return
    }
    withUnsafeTemporaryAllocation(byteCount: DirectShape.largestFrame, alignment: 16) { memory in
      guard let frame = memory.baseAddress else { return }
      frame.copyMemory(from: body.pointee.frame, byteCount: signature.frameSize)
      body.pointee.fill(frame, from: event)
      signature.call(body.pointee.code, frame, result: result)
    }
  }
}
