// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle
import TreadleBase

/// A routine as a function pointer and what it is called with, so that a call looks nothing up and counts nothing.
/// Whoever has it holds the routine.
package struct BoundCall {
  /// Gets the context, an event or nil, and room for the result or nil.
  package typealias Code = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void

  package let code: Code
  package let context: UnsafeMutableRawPointer?

  /// The shortest way to call a routine that is held.
  init(_ body: UnsafeMutablePointer<RoutineBody>, dropsResult: Bool) {
    let signature = body.pointee.signature
    if dropsResult && body.pointee.suppliedCount == 0, let plan = signature.plan, plan.takesOneWord {
      // Called with two words more, which it does not look at, and what it returns is not looked at either.
      code = unsafeBitCast(body.pointee.code, to: Code.self)
      context = body.pointee.frame.load(as: UnsafeMutableRawPointer?.self)
      return
    }
    context = UnsafeMutableRawPointer(body)
    if signature.plan != nil && body.pointee.suppliedCount == 0 {
      code = dropsResult ? BoundCall.plannedWithoutResult : BoundCall.planned
    } else {
      code = dropsResult ? BoundCall.anyWithoutResult : BoundCall.any
    }
  }

  private init(code: @escaping Code) {
    self.code = code
    context = nil
  }

  // MARK: Nothing to call

  /// What is left when the routine is given up: calling it does no harm.
  package static var released: BoundCall { BoundCall(code: refusal) }

  private static let refusal: Code = { _, _, _ in
    LastError.record(Failure(Status.stale, "call", "is not bound to a routine"), in: "treadle_bound_call")
  }

  /// Whether this is the address of its code.
  package static func isReleased(_ address: UInt) -> Bool { address == unsafeBitCast(refusal, to: UInt.self) }

  // MARK: What the context is called by

  private static let planned: Code = { context, _, result in callPlanned(context, result) }
  private static let plannedWithoutResult: Code = { context, _, _ in callPlanned(context, nil) }
  private static let any: Code = { context, event, result in callAny(context, event, result) }
  private static let anyWithoutResult: Code = { context, event, _ in callAny(context, event, nil) }

  @inline(__always)
  private static func callPlanned(_ context: UnsafeMutableRawPointer?, _ result: UnsafeMutableRawPointer?) {
    guard let body = context?.assumingMemoryBound(to: RoutineBody.self) else { return }
    body.pointee.signature.callPlanned(body.pointee.code, body.pointee.frame, result: result)
  }

  @inline(__always)
  private static func callAny(
    _ context: UnsafeMutableRawPointer?, _ event: UnsafeRawPointer?, _ result: UnsafeMutableRawPointer?
  ) {
    guard let body = context?.assumingMemoryBound(to: RoutineBody.self) else { return }
    // An event that is too short to be one counts as none.
    let given = event?.assumingMemoryBound(to: Event.self)
    let isKnown = given.map { $0.pointee.structSize >= MemoryLayout<Event>.size } ?? false
    RoutineBody.call(body, isKnown ? given : nil, result: result)
  }
}
