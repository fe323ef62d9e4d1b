// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

/// Calling a closure's handler.
enum ClosureCall {
  /// The result is the handler's if that says so, and the default otherwise. The caller is inside the closure's stub.
  @inline(__always)
  static func perform(
    _ body: ClosureBody.Pointer, loop: OpaquePointer?, arguments: UnsafePointer<UnsafeRawPointer?>?,
    result: UnsafeMutableRawPointer
  ) {
    ClosureBody.copyDefault(body, to: result)
    // What a loop performs is counted by its run, or by whoever performs it directly.
    let isCounted = loop == nil
    if isCounted && !ClientCall.begin() {
      ClientCall.end()
      body.pointee.dropped.add(1, ordering: .relaxed)
      return
    }
    var record = CallRecord(body, loop: loop, arguments: arguments, result: result)
    let isHandled = withUnsafeMutablePointer(to: &record) { record in
      ClosureFrame.during(body) { body.pointee.handler.handle(record) }
    }
    if isCounted { ClientCall.end() }
    if isHandled {
      body.pointee.handled.add(1, ordering: .relaxed)
    } else {
      body.pointee.failed.add(1, ordering: .relaxed)
      ClosureBody.copyDefault(body, to: result)
    }
  }
}
