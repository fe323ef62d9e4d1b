// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import CTreadleSystem
import Synchronization
import Treadle

/// Where the calls of all closures arrive, with libffi's description of their type and the stub's slot.
enum ClosureEntry {
  static let call: @convention(c) (
    UnsafeMutablePointer<ffi_cif>?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    UnsafeMutableRawPointer?
  ) -> Void = { type, result, arguments, slot in
    guard let type, let result, let slot else { return }
    let stub = Stub(slot)
    let tag = treadle_system_tag()
    guard stub.slot.pointee.tag.load(ordering: .relaxed) == tag, stub.enter() else {
      Tombstone.answer(stub, type, result)
      return
    }
    guard let body = stub.body else { return }
    if body.pointee.signature.isPrepared(as: type) {
      deliver(body, arguments, result)
    } else {
      // It came for a closure whose pointer serves this one now.
      Tombstone.answerNothing(type, result)
    }
    // The handler may have forked: in the child the closure is the parent's, with other calls that never end.
    if treadle_system_tag() == tag, stub.leave() { Closure.end(body) }
  }

  @inline(__always)
  private static func deliver(
    _ body: ClosureBody.Pointer, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ result: UnsafeMutableRawPointer
  ) {
    let arguments = UnsafeRawPointer(arguments)?.assumingMemoryBound(to: UnsafeRawPointer?.self)
    if let carrier = body.pointee.carrier {
      Hop(body, carrier).deliver(arguments, result: result)
    } else {
      ClosureCall.perform(body, loop: nil, arguments: arguments, result: result)
    }
    ForeignResult.widen(body.pointee.signature.result, in: result)
  }
}
