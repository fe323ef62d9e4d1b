// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The result of a signature, or one of its arguments.
package struct SignatureValue: BitwiseCopyable, Sendable {
  /// What kind of type it is.
  package let code: TypeCode
  /// Its size and alignment.
  package let layout: TypeLayout
  /// Where an argument lies in a call's frame.
  package let offset: Int
}
