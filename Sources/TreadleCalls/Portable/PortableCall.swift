// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The callee's side: a call whose arguments have come as bytes, which are anybody's. All that it needs is in one block
/// of memory, so that a call that is made is also answered: the answer, a frame, room for the result, and a copy of
/// what each pointer points to, aligned to 16 bytes.
package struct PortableCall: BitwiseCopyable {
  package typealias Code = @convention(c) () -> Void

  /// What the bytes of a call are.
  package enum Receipt {
    case call(PortableCall)
    /// Well-formed, but nothing that the function can be called with: the status of that.
    case refused(Int32)
    /// No caller writes that.
    case malformed
  }

  private let function: PortableSignature
  private let code: Code
  private let block: UnsafeMutableRawPointer
  /// In the block.
  private let frame: UnsafeMutableRawPointer
  private let result: UnsafeMutableRawPointer
  private let buffers: UnsafeMutableRawPointer
  private let head: Int
  private let answerSize: Int

  /// Sizes of what is in the block behind each other.
  private struct Plan {
    var buffers = 0
    var answer = 0
    var out = 0
    var isRefused = false
  }

  /// Looks at the bytes of a call, and makes it ready. `head`: so many bytes are left free before the answer.
  package static func receive(
    _ function: PortableSignature, _ code: @escaping Code, _ bytes: UnsafeRawBufferPointer, head: Int
  ) -> Receipt {
    guard let plan = measure(function, bytes) else { return .malformed }
    if plan.isRefused { return .refused(Status.argument) }
    if plan.out > PortableSignature.mostOut { return .refused(Status.range) }
    let answerSize = head &+ function.resultSize &+ plan.answer
    let answerRoom = TypeLayout.align(answerSize, to: 16)
    let frameRoom = TypeLayout.align(max(function.signature.frameSize, 16), to: 16)
    let resultRoom = ForeignResult.room(for: function.signature.result.layout)
    guard let block = treadle_system_allocate(answerRoom &+ frameRoom &+ resultRoom &+ plan.buffers) else {
      return .refused(Status.noMemory)
    }
    let call = PortableCall(
      function: function, code: code, block: block, frame: block + answerRoom, result: block + answerRoom + frameRoom,
      buffers: block + answerRoom + frameRoom + resultRoom, head: head, answerSize: answerSize)
    memset(call.frame, 0, frameRoom &+ resultRoom)
    call.fill(bytes)
    return .call(call)
  }

  /// Nil for bytes that are malformed.
  private static func measure(_ function: PortableSignature, _ bytes: UnsafeRawBufferPointer) -> Plan? {
    var plan = Plan()
    var at = 0
    for index in 0..<function.argumentCount {
      let value = function.value(index)
      if !value.qualifiers.hasBuffer {
        guard let start = bytes.baseAddress, value.layout.size <= bytes.count &- at else { return nil }
        if !function.hasTruth(start + at, of: index) { plan.isRefused = true }
        at &+= value.layout.size
        continue
      }
      guard let start = bytes.baseAddress, 8 <= bytes.count &- at else { return nil }
      let word = (start + at).loadUnaligned(as: UInt64.self)
      at &+= 8
      if word == PortableSignature.null { continue }
      // What cannot be is malformed: also of an o argument, of which nothing else has come.
      guard word <= UInt64(1 << 31) else { return nil }
      let size = Int(word)
      if value.qualifiers.isOut {
        plan.out &+= size
      } else {
        guard size <= bytes.count &- at else { return nil }
        if PortableSignature.isText(value), !PortableSignature.isTerminated(start + at, size) { plan.isRefused = true }
        at &+= size
      }
      plan.buffers &+= TypeLayout.align(max(size, 16), to: 16)
      if PortableSignature.comesBack(value) { plan.answer &+= size }
    }
    return at == bytes.count ? plan : nil
  }

  /// Fills the frame with bytes that were measured.
  private func fill(_ bytes: UnsafeRawBufferPointer) {
    guard var next = bytes.baseAddress else { return }
    var place = buffers
    for index in 0..<function.argumentCount {
      let value = function.value(index)
      if !value.qualifiers.hasBuffer {
        Promotion.store(next, of: value, to: frame)
        next += value.layout.size
        continue
      }
      let word = next.loadUnaligned(as: UInt64.self)
      next += 8
      if word == PortableSignature.null { continue }
      let size = Int(word)
      if value.qualifiers.isOut {
        memset(place, 0, size)
      } else {
        place.copyMemory(from: next, byteCount: size)
        next += size
      }
      (frame + value.offset).storeBytes(of: place, as: UnsafeMutableRawPointer.self)
      place += TypeLayout.align(max(size, 16), to: 16)
    }
  }

  /// Makes the call, and the answer behind its head.
  package func perform(_ bytes: UnsafeRawBufferPointer) {
    function.signature.call(code, frame, result: result)
    var next = block + head
    function.copy(result, of: nil, to: next)
    next += function.resultSize
    forEachBuffer(bytes) { value, place, size in
      if !PortableSignature.comesBack(value) { return }
      next.copyMemory(from: place, byteCount: size)
      next += size
    }
  }

  private func forEachBuffer(
    _ bytes: UnsafeRawBufferPointer, _ body: (SignatureValue, UnsafeMutableRawPointer, Int) -> Void
  ) {
    guard var next = bytes.baseAddress else { return }
    var place = buffers
    for index in 0..<function.argumentCount {
      let value = function.value(index)
      if !value.qualifiers.hasBuffer {
        next += value.layout.size
        continue
      }
      let word = next.loadUnaligned(as: UInt64.self)
      next += 8
      if word == PortableSignature.null { continue }
      if !value.qualifiers.isOut { next += Int(word) }
      body(value, place, Int(word))
      place += TypeLayout.align(max(Int(word), 16), to: 16)
    }
  }

  /// The answer, with its head.
  package var answer: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: block, count: answerSize) }
  /// All of its memory, which its owner frees once.
  package var memory: UnsafeMutableRawPointer { block }
}
