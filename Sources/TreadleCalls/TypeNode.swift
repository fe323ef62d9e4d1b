// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// One type of a parsed signature.
struct TypeNode: BitwiseCopyable, Sendable {
  let code: TypeCode
  /// Arrays: the number of elements. Others: 1.
  let count: Int
  /// Of a result or an argument.
  var qualifiers = ArgumentQualifiers()
  /// Size and alignment, arrays with all their elements.
  var layout: TypeLayout
  /// The index behind this node and all that is inside of it.
  var end: Int
}
