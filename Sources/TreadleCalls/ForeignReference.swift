// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A way around an error of libffi on 64-bit Arm (seen in 3.4.4): what lies behind an argument that is a struct of more
/// than 16 bytes may arrive damaged.
///
/// By the processor's convention such a struct is copied, and a pointer to the copy travels in its place. So libffi is
/// told of a pointer, in calls and in closures. A struct of up to four equal floating-point numbers travels otherwise,
/// and is left to libffi.
enum ForeignReference {
  typealias List = UnsafeMutablePointer<UnsafeMutableRawPointer?>

  #if arch(arm64)
    private static let isKnown = true
  #else
    private static let isKnown = false
  #endif

  /// Whether an argument is such a struct.
  static func isNeeded(_ nodes: TypeNodes, _ index: Int) -> Bool {
    guard isKnown, nodes[index].code == .structure, nodes[index].layout.size > 16 else { return false }
    var numbers = Numbers()
    numbers.add(nodes, index)
    return !numbers.areEqual || numbers.count > 4
  }

  /// The numbers that a type consists of.
  private struct Numbers {
    var count = 0
    var areEqual = true
    private var code: TypeCode?

    mutating func add(_ nodes: TypeNodes, _ index: Int) {
      let node = nodes[index]
      switch node.code {
      case .structure:
        var member = index &+ 1
        while member < node.end && areEqual {
          add(nodes, member)
          member = nodes[member].end
        }
      case .array:
        var inner = Numbers()
        inner.add(nodes, index &+ 1)
        // Of many elements it is enough to know that they are more than four.
        let elements = min(node.count, 5) &* min(inner.count, 5)
        merge(inner.code, count: elements, areEqual: inner.areEqual)
      case .float, .double: merge(node.code, count: 1, areEqual: true)
      default: areEqual = false
      }
    }

    private mutating func merge(_ other: TypeCode?, count: Int, areEqual: Bool) {
      guard let other, areEqual, code == nil || code == other else {
        self.areEqual = false
        return
      }
      code = other
      self.count = min(self.count &+ count, 5)
    }
  }

  /// Room for pointers to the arguments of a call.
  static func room(_ signature: Signature) -> Int {
    isKnown ? signature.argumentCount &* MemoryLayout<UnsafeMutableRawPointer?>.stride : 0
  }

  /// Has a call's list of pointers lead to pointers, which are stored in a room, where the argument travels so.
  static func refer(_ signature: Signature, _ list: List, _ room: List) {
    guard isKnown else { return }
    for index in 0..<signature.argumentCount where signature.body.pointee.values[index].isByReference {
      (room + index).initialize(to: list[index])
      list[index] = UnsafeMutableRawPointer(room + index)
    }
  }

  /// Has a closure's list of pointers lead to the structs in place of the pointers that have come.
  static func resolve(_ signature: Signature, _ list: List?) {
    guard isKnown, let list else { return }
    for index in 0..<signature.argumentCount where signature.body.pointee.values[index].isByReference {
      list[index] = list[index]?.load(as: UnsafeMutableRawPointer?.self)
    }
  }
}
