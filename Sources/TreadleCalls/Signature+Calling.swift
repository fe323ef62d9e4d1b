// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Calling a function, by the shortest way that its type allows.
extension Signature {
  /// Whether libffi has no part in it.
  var isDirect: Bool { shape != nil || plan != nil }

  /// Calls with a frame that is complete. `result` has room for the result's type; nil drops the result. Nothing of
  /// the frame is looked at after the function has begun.
  @inline(__always)
  func call(_ code: DirectShape.Code, _ frame: UnsafeRawPointer, result: UnsafeMutableRawPointer?) {
    if let shape {
      shape.call(code, frame)
    } else {
      callPlanned(code, frame, result: result)
    }
  }

  /// One copy of the code, made for speed: it is most of what a call costs.
  @inline(never)
  @_optimize(speed)
  func callPlanned(_ code: DirectShape.Code, _ frame: UnsafeRawPointer, result: UnsafeMutableRawPointer?) {
    if let plan {
      plan.call(code, frame, result: result)
    } else {
      ForeignCall.perform(self, code, frame, result: result)
    }
  }
}
