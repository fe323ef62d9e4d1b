// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What an encoding may ask for. The limits keep a caller's text from costing more memory or stack
/// than a real signature ever would.
package enum EncodingLimits {
  /// Characters of text.
  package static let length = 1024
  /// Arguments of a function.
  package static let arguments = 32
  /// Levels of structs, arrays and pointers inside one another.
  package static let nesting = 32
  /// Bytes of a result, and of all arguments together, each aligned as its type asks.
  package static let valueSize = 4096
}
