// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

/// Calls on function pointers whose closures are retired.
enum Tombstone {
  /// Gives the caller the closure's default result. In the child of a fork no lock is taken.
  static func answer(_ stub: Stub, _ type: UnsafeMutablePointer<ffi_cif>, _ result: UnsafeMutableRawPointer) {
    StubPool.countLateCall()
    let isOwn = stub.slot.pointee.tag.load(ordering: .relaxed) == treadle_system_tag()
    let reading = stub.beginReading()
    // One that was active when the process forked is still marked so until the pool is used again.
    let body = reading?.body ?? (isOwn ? nil : bodyOfEarlierLife(stub))
    var isFirst = false
    if let body, body.pointee.signature.isNamed(by: type) {
      ClosureBody.copyDefault(body, to: result)
      ForeignResult.widen(body.pointee.signature.result, in: result)
      body.pointee.late.add(1, ordering: .relaxed)
      isFirst = isOwn && reading != nil && stub.setReported()
    } else {
      answerNothing(type, result)
    }
    if let reading { stub.endReading(reading) }
    if isFirst { LastResort.report("closure", "a function pointer was called whose closure is retired") }
  }

  /// What a stub names that a closure of this life does not use yet. No call is counted, and none has to be: the body
  /// of an earlier life is never freed. A closure of this life may take the stub meanwhile: its tag is there before its
  /// body is named.
  private static func bodyOfEarlierLife(_ stub: Stub) -> UnsafeMutablePointer<ClosureBody>? {
    let body = stub.body
    return stub.slot.pointee.tag.load(ordering: .relaxed) == treadle_system_tag() ? nil : body
  }

  /// Zeros, when nothing is left of the closure that was meant.
  static func answerNothing(_ type: UnsafeMutablePointer<ffi_cif>, _ result: UnsafeMutableRawPointer) {
    let value = Signature(namedBy: type).result
    if value.code == .void { return }
    let size = value.code == .structure ? value.layout.size : max(value.layout.size, MemoryLayout<ffi_arg>.size)
    result.initializeMemory(as: UInt8.self, repeating: 0, count: size)
  }
}
