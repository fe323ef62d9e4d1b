// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// What a closure consists of. Owned by its handle's slot, until the client gives its references up and the closure is
/// drained, and by its stub, until that serves another closure.
struct ClosureBody: ~Copyable {
  /// First, where leak checkers find what is left in the child of a fork.
  var left: UnsafeMutableRawPointer?
  let owners: Atomic<UInt32>
  // Constant once there is a handle.
  let signature: Signature
  let handler: ClosureHandler
  /// What a caller gets when its call is not handled; nil for void.
  let defaultResult: UnsafeMutableRawPointer?
  /// The life of the process that it was made in (see `Runtime`).
  let tag: UInt32
  /// What carries its calls to a loop; nil when the calling thread handles them.
  let carrier: Carrier.Pointer?
  var stub: Stub
  var handle: Handle
  /// Its pointer is never used for another closure.
  let isKept: Bool
  /// It is a `SharedTombstone`'s.
  var isShared = false

  /// 1 from the moment on from which no call begins any more.
  let isRetired: Atomic<UInt32>
  /// 1 when the client's `destroy` has returned.
  let isDrained: Atomic<UInt32>
  /// 1 when somebody waits for that.
  let isAwaited: Atomic<UInt32>
  /// `Report` bits: what was reported.
  let reports: Atomic<UInt32>
  // What treadle_closure_info tells.
  let handled: Atomic<UInt64>
  let failed: Atomic<UInt64>
  let dropped: Atomic<UInt64>
  let timedOut: Atomic<UInt64>
  let late: Atomic<UInt64>

  enum Report {
    static let full: UInt32 = 1
  }

  typealias Pointer = UnsafeMutablePointer<ClosureBody>

  /// A closure without a handle, and with a stub that does not lead to it yet.
  static func make(_ plan: ClosurePlan, _ stub: Stub) throws(Failure) -> Pointer {
    let resultSize = plan.signature.result.layout.size
    let size = Arena.room(ClosureBody.self, 1) &+ Arena.room(UInt8.self, resultSize)
    guard let block = Arena.allocate(size) else { throw Failure.noMemory("closure") }
    do throws(Failure) {
      var arena = Arena(block, size: size)
      guard let body = arena.take(ClosureBody.self, 1), let room = arena.take(UInt8.self, resultSize) else {
        throw Failure.noMemory("closure")
      }
      var carrier: Carrier.Pointer?
      if let carried = plan.carrier { carrier = try Carrier.make(carried, plan.signature) }
      room.initialize(repeating: 0, count: resultSize)
      if let given = plan.defaultResult { UnsafeMutableRawPointer(room).copyMemory(from: given, byteCount: resultSize) }
      body.initialize(
        to: ClosureBody(
          left: nil, owners: Atomic(1), signature: plan.signature, handler: plan.handler,
          defaultResult: resultSize == 0 ? nil : UnsafeMutableRawPointer(room), tag: treadle_system_tag(),
          carrier: carrier, stub: stub, handle: Handle(bits: 0), isKept: plan.keepsCode, isRetired: Atomic(0),
          isDrained: Atomic(0),
          isAwaited: Atomic(0), reports: Atomic(0), handled: Atomic(0), failed: Atomic(0), dropped: Atomic(0),
          timedOut: Atomic(0), late: Atomic(0)))
      return body
    } catch {
      Arena.free(block)
      throw error
    }
  }

  /// An owner gives it up.
  static func drop(_ body: Pointer) {
    if body.pointee.owners.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    if let carrier = body.pointee.carrier { Carrier.free(carrier) }
    Arena.free(body)
  }

  /// The stub that led to it serves another closure.
  static func leaveStub(_ body: Pointer) {
    if body.pointee.isShared { return }
    if body.pointee.tag == treadle_system_tag() { drop(body) } else { treadle_system_forget(body) }
  }

  /// True the first time.
  static func isFirst(_ report: UInt32, _ body: Pointer) -> Bool {
    body.pointee.reports.bitwiseOr(report, ordering: .relaxed).oldValue & report == 0
  }

  /// Writes the default result where a handler would write its own.
  @inline(__always)
  static func copyDefault(_ body: Pointer, to result: UnsafeMutableRawPointer) {
    if let bytes = body.pointee.defaultResult {
      result.copyMemory(from: bytes, byteCount: body.pointee.signature.result.layout.size)
    }
  }
}
