// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The text of a signature without what makes no difference to a call: names, frame offsets, what pointers point to,
/// and the qualifiers that nobody heeds. Equal texts share one signature. It is never longer than the encoding.
enum CanonicalText {
  static func write(_ nodes: TypeNodes, to writer: inout TextWriter) {
    var index = 0
    while index < nodes.count {
      if index == nodes.ellipsis { writer.append("...") }
      write(nodes, &index, to: &writer)
    }
    if index == nodes.ellipsis { writer.append("...") }
  }

  /// One type with all that is inside of it.
  static func write(_ nodes: TypeNodes, _ index: inout Int, to writer: inout TextWriter) {
    let node = nodes[index]
    index &+= 1
    node.qualifiers.write(to: &writer)
    switch node.code {
    case .pointer: writer.append("^v")
    case .function: writer.append("^?")
    case .structure:
      writer.append("{=")
      while index < node.end { write(nodes, &index, to: &writer) }
      writer.append("}")
    case .array:
      writer.append("[")
      writer.append(node.count)
      while index < node.end { write(nodes, &index, to: &writer) }
      writer.append("]")
    default:
      writer.append(node.code.rawValue)
    }
  }
}
