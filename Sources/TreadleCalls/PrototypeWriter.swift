// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Writes a signature as C source, for messages: `int32_t f(void *, int64_t)`.
struct PrototypeWriter {
  private let nodes: TypeNodes
  private var text: TextWriter

  static func write(_ nodes: TypeNodes, to text: inout TextWriter) {
    var writer = PrototypeWriter(nodes: nodes, text: text)
    writer.function()
    text = writer.text
  }

  private mutating func function() {
    let result = nodes[0]
    result.qualifiers.describe(to: &text)
    open(0)
    if !result.code.isPointer { text.append(" ") }
    text.append("f(")
    var index = result.end
    if index >= nodes.count { text.append("void") }
    while index < nodes.count && !nodes.isVariadic(index) {
      if index > result.end { text.append(", ") }
      index = argument(index)
    }
    if nodes.ellipsis != nil { variadic(index) }
    text.append(")")
    close(0)
  }

  /// The variadic arguments of this call are no part of a prototype: a comment has them.
  private mutating func variadic(_ first: Int) {
    text.append(", ...")
    var index = first
    while index < nodes.count {
      text.append(index == first ? " /* " : ", ")
      index = type(index)
    }
    if index > first { text.append(" */") }
  }

  private mutating func argument(_ index: Int) -> Int {
    nodes[index].qualifiers.describe(to: &text)
    return type(index)
  }

  /// A type without a name. Returns the index behind it.
  private mutating func type(_ index: Int) -> Int {
    open(index)
    close(index)
    return nodes[index].end
  }

  /// What stands before a declared name.
  private mutating func open(_ index: Int) {
    let node = nodes[index]
    switch node.code {
    case .array: open(index &+ 1)
    case .structure:
      text.append("struct { ")
      var member = index &+ 1
      while member < node.end {
        member = type(member)
        text.append("; ")
      }
      text.append("}")
    default: text.append(node.code.cName)
    }
  }

  /// What stands behind it.
  private mutating func close(_ index: Int) {
    let node = nodes[index]
    switch node.code {
    case .array:
      text.append("[")
      text.append(node.count)
      text.append("]")
      close(index &+ 1)
    case .function: text.append(")(void)")
    default: break
    }
  }
}

extension TypeCode {
  fileprivate var cName: StaticString {
    switch self {
    case .int8: return "int8_t"
    case .uint8: return "uint8_t"
    case .int16: return "int16_t"
    case .uint16: return "uint16_t"
    case .int32: return "int32_t"
    case .uint32: return "uint32_t"
    case .int64: return "int64_t"
    case .uint64: return "uint64_t"
    case .float: return "float"
    case .double: return "double"
    case .bool: return "bool"
    case .void: return "void"
    case .string: return "char *"
    case .pointer: return "void *"
    case .function: return "void (*"
    case .structure: return "struct"
    case .array: return ""
    }
  }
}
