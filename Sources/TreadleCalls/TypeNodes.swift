// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// The types of a signature in the order of the text: the result, then the arguments. A struct is
/// followed by its members, an array by its element's type, each with what is inside of it.
struct TypeNodes {
  private var nodes = Buffer<TypeNode>()

  /// The index of the first variadic argument's node, or of the end if there is none; nil if the function takes no
  /// such arguments.
  private(set) var ellipsis: Int?

  var count: Int { nodes.count }

  /// Whether a node is, or is part of, a variadic argument.
  func isVariadic(_ index: Int) -> Bool {
    guard let ellipsis else { return false }
    return index >= ellipsis
  }

  /// What follows are variadic arguments.
  mutating func beginVariadic() { ellipsis = nodes.count }

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

  /// Gives a result or an argument the qualifiers that it can have.
  mutating func qualify(_ index: Int, _ qualifiers: ArgumentQualifiers) {
    guard var node = nodes[index] else { return }
    node.qualifiers = qualifiers.kept(forResult: index == 0, isPointer: node.code.isDataPointer)
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
