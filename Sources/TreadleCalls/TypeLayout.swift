// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The size and the alignment of a C type, and the arithmetic of structs. Sizes stay so far below
/// `Int.max` (see `EncodingLimits`) that sums cannot overflow.
package struct TypeLayout: Equatable, BitwiseCopyable, Sendable {
  /// Bytes, with the padding at the end. 0 for void.
  package private(set) var size = 0
  /// A power of two. 1 for void.
  package private(set) var alignment = 1

  init() {}

  init<T>(of type: T.Type) {
    size = MemoryLayout<T>.size
    alignment = MemoryLayout<T>.alignment
  }

  /// Puts a member behind the others and tells its offset.
  mutating func append(_ member: TypeLayout) -> Int {
    let offset = TypeLayout.align(size, to: member.alignment)
    size = offset &+ member.size
    alignment = max(alignment, member.alignment)
    return offset
  }

  /// Pads the end, so that elements of an array are aligned.
  mutating func close() {
    size = TypeLayout.align(size, to: alignment)
  }

  /// The layout of an array, or nil if it is larger than anything that is passed by value.
  func times(_ count: Int) -> TypeLayout? {
    let (product, overflow) = size.multipliedReportingOverflow(by: count)
    guard !overflow, product <= EncodingLimits.valueSize else { return nil }
    var result = self
    result.size = product
    return result
  }

  /// `size` rounded up to a multiple of a power of two.
  static func align(_ size: Int, to alignment: Int) -> Int {
    (size &+ alignment &- 1) & ~(alignment &- 1)
  }
}
