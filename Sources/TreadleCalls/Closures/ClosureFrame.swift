// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A call of a closure's handler that is on a thread's stack.
struct ClosureFrame {
  private let body: ClosureBody.Pointer
  private let outer: UnsafeMutableRawPointer?

  @inline(__always)
  static func during(_ body: ClosureBody.Pointer, _ call: () -> Bool) -> Bool {
    let thread = treadle_system_thread()
    var frame = ClosureFrame(body: body, outer: thread.pointee.closure_call)
    return withUnsafeMutablePointer(to: &frame) { frame in
      thread.pointee.closure_call = UnsafeMutableRawPointer(frame)
      let result = call()
      thread.pointee.closure_call = frame.pointee.outer
      return result
    }
  }

  /// Whether the calling thread is inside the closure's handler.
  static func isOnThisThread(_ body: ClosureBody.Pointer) -> Bool {
    isOn(treadle_system_thread().pointee.closure_call, UInt(bitPattern: body))
  }

  /// The same of a thread whose innermost call this is.
  static func isOn(_ innermost: UnsafeMutableRawPointer?, _ body: UInt) -> Bool {
    var next = innermost
    while let frame = next?.assumingMemoryBound(to: ClosureFrame.self) {
      if UInt(bitPattern: frame.pointee.body) == body { return true }
      next = frame.pointee.outer
    }
    return false
  }
}
