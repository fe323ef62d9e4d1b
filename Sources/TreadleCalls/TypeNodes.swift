// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The types of a signature in the order of the text: the result, then the arguments. A struct is
/// followed by its members, an array by its element's type, each with what is inside of it.
struct TypeNodes {
  /// Not a `Buffer`, whose type the ordinary Swift build would have to make when a first signature is parsed, under a
  /// lock of its own: a fork on another thread may meet it locked.
  private var base: UnsafeMutablePointer<TypeNode>?
  private var room = 0
  private(set) var count = 0

  /// The index of the first variadic argument's node, or of the end if there is none; nil if the function takes no
  /// such arguments.
  private(set) var ellipsis: Int?

  /// Whether a node is, or is part of, a variadic argument.
  func isVariadic(_ index: Int) -> Bool {
    guard let ellipsis else { return false }
    return index >= ellipsis
  }

  /// What follows are variadic arguments.
  mutating func beginVariadic() { ellipsis = count }

  /// The node at an index; behind the end a void one, so that no index can do harm.
  subscript(index: Int) -> TypeNode {
    guard let base, index >= 0, index < count else {
      return TypeNode(code: .void, count: 1, layout: TypeLayout(), end: index &+ 1)
    }
    return base[index]
  }

  /// False when there is no memory.
  mutating func append(_ code: TypeCode, _ layout: TypeLayout, count: Int) -> Bool {
    if self.count == room && !grow() { return false }
    guard let base else { return false }
    (base + self.count).initialize(to: TypeNode(code: code, count: count, layout: layout, end: self.count &+ 1))
    self.count &+= 1
    return true
  }

  /// Completes a struct or an array, all of whose inner nodes are there now.
  mutating func close(_ index: Int, _ layout: TypeLayout) {
    guard let base, index >= 0, index < count else { return }
    base[index].layout = layout
    base[index].end = count
  }

  /// Gives a result or an argument the qualifiers that it can have.
  mutating func qualify(_ index: Int, _ qualifiers: ArgumentQualifiers) {
    guard let base, index >= 0, index < count else { return }
    base[index].qualifiers = qualifiers.kept(forResult: index == 0, isPointer: base[index].code.isDataPointer)
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

  /// An encoding has as many types as characters at most (`EncodingLimits`), so that nothing can overflow.
  private mutating func grow() -> Bool {
    let wanted = max(room &* 2, 16)
    guard let memory = treadle_system_reallocate(base, wanted &* MemoryLayout<TypeNode>.stride) else { return false }
    base = memory.assumingMemoryBound(to: TypeNode.self)
    room = wanted
    return true
  }

  consuming func free() { treadle_system_free(base) }
}
