// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Why an encoding gives no signature.
package enum SignatureError: Error {
  /// The text cannot be called: the offset of the offending character, from 0, and a phrase that
  /// completes "the encoding".
  case refused(position: Int, reason: StaticString)
  case noMemory
  /// There are as many signatures as the table takes.
  case tableFull
}
