// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A signature whose values mean the same in every process, so that a call can travel as bytes: numbers, structs of
/// numbers, and pointers to what is copied with them. Whatever else is an address, a function's above all, is refused.
///
/// The bytes of a call are its arguments one behind the other. A value has the bytes of its type. A pointer has a word,
/// which is the size of what it points to, or says that it is NULL; behind that, unless it is o, come the bytes. What
/// lies between the members of a struct travels as zeros.
package struct PortableSignature: BitwiseCopyable {
  let signature: Signature
  /// Its types, which the owner of this frees.
  private let nodes: TypeNodes

  /// The most bytes of the o arguments of one call together, which the callee makes without having received them.
  package static let mostOut = 1 << 24
  static let null = UInt64.max

  package init(_ signature: Signature) throws(Failure) {
    self.signature = signature
    if signature.isVariadic {
      throw PortableSignature.refusal("is variadic, which cannot be called in another process")
    }
    nodes = try PortableSignature.parse(signature)
    do throws(Failure) { try checkTypes() } catch {
      nodes.free()
      throw error
    }
  }

  package func free() { nodes.free() }

  /// Runs `body`, which may call clients: where one of them ends the thread, this is freed. Otherwise its owner does
  /// that as usual.
  package func freedIfThreadEnds(_ body: () throws(Failure) -> Void) throws(Failure) {
    try ObjectCall.recorded(
      0, holding: self, { $0.assumingMemoryBound(to: PortableSignature.self).pointee.free() }, body)
  }

  private func checkTypes() throws(Failure) {
    var index = 0
    while index < nodes.count {
      let node = nodes[index]
      if node.code == .function {
        throw PortableSignature.refusal("has a pointer to a function, which is not valid in another process")
      }
      if node.code.isPointer && !node.qualifiers.hasBuffer {
        throw PortableSignature.refusal("has a pointer without O, N or o, which is not valid in another process")
      }
      index &+= 1
    }
  }

  private static func refusal(_ text: StaticString) -> Failure { Failure(Status.signature, "signature", text) }

  private static func parse(_ signature: Signature) throws(Failure) -> TypeNodes {
    do throws(SignatureError) { return try EncodingParser.parse(signature.text) } catch {
      throw Failure.noMemory("signature")
    }
  }

  /// The canonical text: equal ones are the same type.
  package var text: UnsafeRawBufferPointer { UnsafeRawBufferPointer(signature.text) }
  package var argumentCount: Int { signature.argumentCount }
  package var resultSize: Int { signature.result.layout.size }

  func value(_ index: Int) -> SignatureValue { signature.argument(index) ?? signature.result }

  /// Its bytes come back with the result.
  static func comesBack(_ value: SignatureValue) -> Bool { value.qualifiers.isInOut || value.qualifiers.isOut }
  /// It is a C string, in the callee's eyes too.
  static func isText(_ value: SignatureValue) -> Bool { value.code == .string && !value.qualifiers.isOut }

  /// Whether each truth value among the bytes of a value is 0 or 1: any other number is none in C.
  func hasTruth(_ bytes: UnsafeRawPointer, of argument: Int) -> Bool {
    let value = value(argument)
    if value.code == .bool { return bytes.load(as: UInt8.self) <= 1 }
    if value.code != .structure { return true }
    var isTrue = true
    forEachNumber(node(argument), 0) { node, offset in
      if node.code == .bool && (bytes + offset).load(as: UInt8.self) > 1 { isTrue = false }
    }
    return isTrue
  }

  /// Copies a value's bytes, but not what lies between the members of a struct, which is whatever was in memory before.
  /// `argument`: nil for the result.
  func copy(_ bytes: UnsafeRawPointer, of argument: Int?, to room: UnsafeMutableRawPointer) {
    let type = argument.map { value($0) } ?? signature.result
    if type.code != .structure { return room.copyMemory(from: bytes, byteCount: type.layout.size) }
    memset(room, 0, type.layout.size)
    forEachNumber(argument.map { node($0) } ?? 0, 0) { node, offset in
      (room + offset).copyMemory(from: bytes + offset, byteCount: node.layout.size)
    }
  }

  private func node(_ argument: Int) -> Int {
    var index = nodes[0].end
    for _ in 0..<argument { index = nodes[index].end }
    return index
  }

  /// Calls `body` with each number inside of a type, and where it lies.
  private func forEachNumber(_ index: Int, _ offset: Int, _ body: (TypeNode, Int) -> Void) {
    let node = nodes[index]
    switch node.code {
    case .structure:
      var layout = TypeLayout()
      var member = index &+ 1
      while member < node.end {
        forEachNumber(member, offset &+ layout.append(nodes[member].layout), body)
        member = nodes[member].end
      }
    case .array:
      let size = nodes[index &+ 1].layout.size
      for element in 0..<node.count { forEachNumber(index &+ 1, offset &+ element &* size, body) }
    default: body(node, offset)
    }
  }
}

/// One value of a client's: an argument's bytes, or what a pointer points to. The layout is that of
/// `treadle_port_value` in the C header.
package struct PortableValue: BitwiseCopyable {
  package var bytes: UnsafeMutableRawPointer?
  package var size: Int

  package init(bytes: UnsafeMutableRawPointer?, size: Int) {
    self.bytes = bytes
    self.size = size
  }
}
