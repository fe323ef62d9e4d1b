// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI

/// Makes libffi's descriptions of types, in memory that the caller has measured with `room(for:)`.
/// Scalars are libffi's own constants.
struct FFITypes {
  typealias TypePointer = UnsafeMutablePointer<ffi_type>

  private let nodes: TypeNodes
  /// What is left of the memory.
  private(set) var arena: Arena

  init(_ nodes: TypeNodes, in arena: Arena) {
    self.nodes = nodes
    self.arena = arena
  }

  /// What the descriptions of all structs and the list of the arguments need.
  static func room(for nodes: TypeNodes) -> Int {
    var room = 0
    for index in 0..<nodes.count where nodes[index].code == .structure {
      room &+= Arena.room(ffi_type.self, 1)
      room &+= Arena.room(TypePointer?.self, memberCount(nodes, index) &+ 1)
    }
    return room &+ Arena.room(TypePointer?.self, nodes.count)
  }

  /// The description of a type by value that is no array; nil only if the room was measured wrongly.
  mutating func make(_ index: Int) -> TypePointer? {
    let node = nodes[index]
    guard node.code == .structure else { return FFITypes.scalar(node.code) }
    guard let structure = arena.take(ffi_type.self, 1),
      let elements = arena.take(TypePointer?.self, FFITypes.memberCount(nodes, index) &+ 1)
    else { return nil }
    var (member, filled) = (index &+ 1, 0)
    while member < node.end {
      let (element, count) = nodes.repeated(member)
      guard let type = make(element) else { return nil }
      (elements + filled).initialize(repeating: type, count: count)
      filled &+= count
      member = nodes[member].end
    }
    (elements + filled).initialize(to: nil)
    structure.initialize(to: ffi_type(size: 0, alignment: 0, type: UInt16(FFI_TYPE_STRUCT), elements: elements))
    return structure
  }

  /// The descriptions of the arguments, `count` of them; nil only if the room was measured wrongly.
  mutating func makeArguments(_ count: Int) -> UnsafeMutablePointer<TypePointer?>? {
    guard let list = arena.take(TypePointer?.self, max(count, 1)) else { return nil }
    list.initialize(to: nil)
    var (index, filled) = (nodes[0].end, 0)
    while index < nodes.count, filled < count {
      guard let type = argument(index) else { return nil }
      (list + filled).initialize(to: type)
      filled &+= 1
      index = nodes[index].end
    }
    return list
  }

  private mutating func argument(_ index: Int) -> TypePointer? {
    if ForeignReference.isNeeded(nodes, index) { return treadle_ffi_pointer() }
    return nodes.isVariadic(index) ? makeVariadic(index) : make(index)
  }

  /// An argument as it is passed where the callee's prototype says nothing of it.
  private mutating func makeVariadic(_ index: Int) -> TypePointer? {
    let code = nodes[index].code
    return code == .structure ? make(index) : FFITypes.scalar(Promotion.promoted(code))
  }

  /// How many elements a struct has for libffi.
  private static func memberCount(_ nodes: TypeNodes, _ index: Int) -> Int {
    let end = nodes[index].end
    var (member, count) = (index &+ 1, 0)
    while member < end {
      count &+= nodes.repeated(member).count
      member = nodes[member].end
    }
    return count
  }

  private static func scalar(_ code: TypeCode) -> TypePointer {
    switch code {
    case .int8: treadle_ffi_sint8()
    case .uint8, .bool: treadle_ffi_uint8()
    case .int16: treadle_ffi_sint16()
    case .uint16: treadle_ffi_uint16()
    case .int32: treadle_ffi_sint32()
    case .uint32: treadle_ffi_uint32()
    case .int64: treadle_ffi_sint64()
    case .uint64: treadle_ffi_uint64()
    case .float: treadle_ffi_float()
    case .double: treadle_ffi_double()
    case .string, .pointer, .function: treadle_ffi_pointer()
    case .void, .structure, .array: treadle_ffi_void()
    }
  }
}
