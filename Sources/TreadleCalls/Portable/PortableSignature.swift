// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A signature whose values mean the same in every process, so that a call can travel as bytes: numbers, structs of numbers, and
/// pointers to what is copied with them. Whatever else is an address, a function's above all, is refused.
///
/// The bytes of a call are its arguments one behind the other. A value has the bytes of its type. A pointer has a word, which is
/// the size of what it points to, or says that it is NULL; behind that, unless it is o, come the bytes.
package struct PortableSignature: BitwiseCopyable {
  let signature: Signature

  /// The most bytes of the o arguments of one call together, which the callee makes without having received them.
  package static let mostOut = 1 << 24
  static let null = UInt64.max

  package init(_ signature: Signature) throws(Failure) {
    self.signature = signature
    if signature.isVariadic { throw PortableSignature.refusal("is variadic, and such a call does not travel") }
    let nodes = try PortableSignature.parse(signature)
    defer { nodes.free() }
    var index = 0
    while index < nodes.count {
      let node = nodes[index]
      if node.code == .function { throw PortableSignature.refusal("has a pointer to a function, which means nothing in another process") }
      if node.code.isPointer && !node.qualifiers.hasBuffer {
        throw PortableSignature.refusal("has a pointer without O, N or o, which means nothing in another process")
      }
      index &+= 1
    }
  }

  private static func refusal(_ text: StaticString) -> Failure { Failure(Status.signature, "signature", text) }

  static func parse(_ signature: Signature) throws(Failure) -> TypeNodes {
    do throws(SignatureError) { return try EncodingParser.parse(signature.text) } catch { throw Failure.noMemory("signature") }
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
    guard let nodes = try? PortableSignature.parse(signature) else { return false }
    defer { nodes.free() }
    var index = nodes[0].end
    for _ in 0..<argument { index = nodes[index].end }
    return PortableSignature.hasTruth(bytes, nodes, index)
  }

  private static func hasTruth(_ bytes: UnsafeRawPointer, _ nodes: TypeNodes, _ index: Int) -> Bool {
    let node = nodes[index]
    switch node.code {
    case .bool: return bytes.load(as: UInt8.self) <= 1
    case .structure:
      var layout = TypeLayout()
      var member = index &+ 1
      while member < node.end {
        if !hasTruth(bytes + layout.append(nodes[member].layout), nodes, member) { return false }
        member = nodes[member].end
      }
      return true
    case .array:
      let size = nodes[index &+ 1].layout.size
      for element in 0..<node.count where !hasTruth(bytes + element &* size, nodes, index &+ 1) { return false }
      return true
    default: return true
    }
  }
}

/// One value of a client's: an argument's bytes, or what a pointer points to. The layout is that of `treadle_port_value` in the C
/// header.
package struct PortableValue: BitwiseCopyable {
  package var bytes: UnsafeMutableRawPointer?
  package var size: Int
}
