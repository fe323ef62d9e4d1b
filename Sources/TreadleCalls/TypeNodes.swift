// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// The types of a signature in the order of the text: the result, then the arguments. A struct is
/// followed by its members, an array by its element's type, each with what is inside of it.
struct TypeNodes {
  private var nodes = Buffer<TypeNode>()

  var count: Int { nodes.count }

  /// The node at an index; behind the end a void one, so that no index can do harm.
  subscript(index: Int) -> TypeNode {
    nodes[index] ?? TypeNode(code: .void, count: 1, layout: TypeLayout(), end: index &+ 1)
  }

  /// False when there is no memory.
  mutating func append(_ code: TypeCode, _ layout: TypeLayout, count: Int) -> Bool {
    nodes.append(TypeNode(code: code, count: count, layout: layout, end: nodes.count &+ 1))
  }

  /// Completes a struct or an array, all of whose inner nodes are there now.
  mutating func close(_ index: Int, _ layout: TypeLayout) {
    guard var node = nodes[index] else { return }
    node.layout = layout
    node.end = nodes.count
    nodes.set(index, node)
  }

  /// How many elements libffi is told of for this node inside a struct, and the node that is repeated:
  /// an array is its element again and again. The parser has bounded the product by the size.
  func repeated(_ index: Int) -> (element: Int, count: Int) {
    var (element, count) = (index, 1)
    while self[element].code == .array {
      count &*= self[element].count
      element &+= 1
    }
    return (element, count)
  }

  consuming func free() {
    var nodes = nodes
    nodes.free()
  }
}
