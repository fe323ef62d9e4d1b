// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A function whose descriptor says how each of its values travels, where its type alone does not.
extension PortableSignature {
  package enum Way {
    case value
    /// A C string.
    case text
    /// Pointers to memory: copied to the callee, copied back, both.
    case input, output, inOut
    /// A pointer in whose place a number travels.
    case word
  }

  /// The signature by which a function is called with values that have come as bytes, and by which closures of its type
  /// are made. It passes the same registers as the function's own. The result is a value, or a word.
  package static func described(
    _ encoding: UnsafePointer<CChar>, result: Way, count: Int, _ way: (Int) -> Way
  ) throws(Failure) -> PortableSignature {
    let length = strlen(encoding)
    let bytes = UnsafeRawBufferPointer(start: encoding, count: length).bindMemory(to: UInt8.self)
    let nodes: TypeNodes
    do throws(SignatureError) { nodes = try EncodingParser.parse(bytes) } catch { throw refusal(error) }
    defer { nodes.free() }
    if nodes.ellipsis != nil {
      throw Failure(Status.signature, "signature", "is variadic, which cannot be called in another process")
    }
    // No way's text is longer than three characters, nor is the canonical text of a pointer shorter than two.
    let room = length &* 2 &+ 8
    guard let memory = treadle_system_allocate(room) else { throw Failure.noMemory("signature") }
    defer { treadle_system_free(memory) }
    var writer = TextWriter(UnsafeMutableRawBufferPointer(start: memory, count: room).bindMemory(to: UInt8.self))
    var (index, argument) = (0, -1)
    while index < nodes.count {
      if argument >= count { break }
      try write(nodes, &index, argument < 0 ? result : way(argument), isResult: argument < 0, to: &writer)
      argument &+= 1
    }
    if argument != count || index < nodes.count {
      throw Failure(Status.range, "argument_count", "is not the number of the signature's arguments")
    }
    let text = UnsafeBufferPointer(start: memory.assumingMemoryBound(to: UInt8.self), count: min(writer.length, room))
    let signature: Signature
    do throws(SignatureError) { signature = try SignatureTable.intern(text).signature } catch { throw refusal(error) }
    return try PortableSignature(signature)
  }

  private static func write(
    _ nodes: TypeNodes, _ index: inout Int, _ way: Way, isResult: Bool, to writer: inout TextWriter
  ) throws(Failure) {
    let node = nodes[index]
    switch way {
    case .value:
      if node.code.isPointer {
        throw Failure(Status.signature, "signature", "has a pointer that is described as a value")
      }
      CanonicalText.write(nodes, &index, to: &writer)
      return
    case .text where !isResult && node.code.isDataPointer: writer.append("O*")
    case .input where node.code.isDataPointer: writer.append("O^v")
    case .output where node.code.isDataPointer: writer.append("o^v")
    case .inOut where node.code.isDataPointer: writer.append("N^v")
    case .word where node.code.isPointer: writer.append(MemoryLayout<UInt>.size == 8 ? "Q" : "I")
    default: throw Failure(Status.signature, "signature", "has a value that is described as a pointer")
    }
    index = node.end
  }

  private static func refusal(_ error: SignatureError) -> Failure {
    switch error {
    case .refused(_, let reason): Failure(Status.signature, "signature", reason)
    case .noMemory: Failure.noMemory("signature")
    case .tableFull: Failure(Status.range, "signature", "is one more than a process can have")
    }
  }

  /// The type of its closures.
  package var closureType: Signature { signature }

  package var isVoid: Bool { signature.result.code == .void }
  /// The size of an argument's value.
  package func size(of argument: Int) -> Int { value(argument).layout.size }
  /// Whether its result is an int.
  package var returnsInt: Bool { signature.result.code == .int32 }

  /// The number in an argument that counts something; nil if it is no integer, or negative.
  package func number(_ bytes: UnsafeRawPointer, of argument: Int) -> Int? {
    guard let value = signature.argument(argument) else { return nil }
    switch value.code {
    case .uint8: return Int(bytes.loadUnaligned(as: UInt8.self))
    case .uint16: return Int(bytes.loadUnaligned(as: UInt16.self))
    case .uint32: return Int(bytes.loadUnaligned(as: UInt32.self))
    case .uint64: return Int(exactly: bytes.loadUnaligned(as: UInt64.self))
    case .int8: return positive(Int(bytes.loadUnaligned(as: Int8.self)))
    case .int16: return positive(Int(bytes.loadUnaligned(as: Int16.self)))
    case .int32: return positive(Int(bytes.loadUnaligned(as: Int32.self)))
    case .int64: return positive(Int(bytes.loadUnaligned(as: Int64.self)))
    default: return nil
    }
  }
  private func positive(_ number: Int) -> Int? { number >= 0 ? number : nil }

  /// Whether an argument is an integer.
  package func isInteger(_ argument: Int) -> Bool {
    switch signature.argument(argument)?.code {
    case .int8, .uint8, .int16, .uint16, .int32, .uint32, .int64, .uint64: true
    default: false
    }
  }

  /// Calls `body` with each argument of a call's bytes: where its value begins, or what a pointer points to; the size;
  /// nil for NULL. False if they are not as the signature has them, or `body` says so.
  package func forEach(
    _ bytes: UnsafeRawBufferPointer, _ body: (Int, UnsafeRawPointer?, Int) -> Bool
  ) -> Bool {
    var at = 0
    for index in 0..<argumentCount {
      guard let start = bytes.baseAddress, let value = signature.argument(index) else { return false }
      let size = value.qualifiers.hasBuffer ? 8 : value.layout.size
      if size > bytes.count &- at { return false }
      if !value.qualifiers.hasBuffer {
        if !body(index, start + at, size) { return false }
        at &+= size
        continue
      }
      let word = (start + at).loadUnaligned(as: UInt64.self)
      at &+= 8
      if word == PortableSignature.null {
        if !body(index, nil, 0) { return false }
        continue
      }
      guard let length = Int(exactly: word), length <= 1 << 31, value.qualifiers.isOut || length <= bytes.count &- at
      else { return false }
      if !body(index, start + at, length) { return false }
      if !value.qualifiers.isOut { at &+= length }
    }
    return at == bytes.count
  }

  /// The sizes of what comes back behind the result, by the bytes of a call that `forEach` has accepted: calls `body`
  /// with the argument and where its bytes are in the answer.
  package func forEachBack(
    _ bytes: UnsafeRawBufferPointer, _ body: (Int, Int, Int) -> Void
  ) {
    var at = resultSize
    _ = forEach(bytes) { index, start, size in
      guard start != nil, let value = signature.argument(index), PortableSignature.comesBack(value) else { return true }
      body(index, at, size)
      at &+= size
      return true
    }
  }
}
