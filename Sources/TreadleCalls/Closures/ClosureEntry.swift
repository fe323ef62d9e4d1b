// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
internal import CTreadleStubs
import CTreadleSystem
import Synchronization
import TreadleCore

/// Where the calls of all closures arrive, with libffi's description of their type and the stub's slot.
enum ClosureEntry {
  private typealias Arguments = UnsafeMutablePointer<UnsafeMutableRawPointer?>

  /// From libffi, with pointers to the arguments.
  static let call:
    @convention(c) (
      UnsafeMutablePointer<ffi_cif>?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
      UnsafeMutableRawPointer?
    ) -> Void = { type, result, arguments, slot in
      guard let type, let result, let slot else { return }
      ForeignReference.resolve(Signature(namedBy: type), arguments)
      perform(Stub(slot), type, arguments, result: result)
    }

  /// From a stub itself, with the image of the registers; the type is one whose arguments all travel in these.
  static let callWithRegisters: treadle_stub_handler_fn = { slot, image, type in
    guard let slot, let image, let type = type?.assumingMemoryBound(to: ffi_cif.self) else { return 0 }
    let signature = Signature(namedBy: type)
    // A pointer that serves a closure of another type by now may have been called for its former one.
    guard signature.plan != nil else { return 0 }
    var result: UInt64 = 0
    withUnsafeTemporaryAllocation(byteCount: RegisterPlan.frameSize, alignment: 16) { memory in
      guard let list = memory.baseAddress?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) else { return }
      var index = 0
      while index < signature.argumentCount {
        (list + index).initialize(to: image + signature.body.pointee.values[index].offset)
        index &+= 1
      }
      perform(Stub(slot), type, list, result: &result)
    }
    return result
  }

  @inline(never)
  @_optimize(speed)
  private static func perform(
    _ stub: Stub, _ type: UnsafeMutablePointer<ffi_cif>, _ arguments: Arguments?, result: UnsafeMutableRawPointer
  ) {
    let tag = treadle_system_tag()
    // Acquires: in the child of a fork the call is counted behind the store that ended the calls of the parent.
    guard stub.slot.pointee.tag.load(ordering: .acquiring) == tag, stub.enter() else {
      Tombstone.answer(stub, type, result)
      return
    }
    guard let body = stub.body else { return }
    if body.pointee.signature.isNamed(by: type) {
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
    _ body: ClosureBody.Pointer, _ arguments: Arguments?, _ result: UnsafeMutableRawPointer
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
