// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// Why an encoding gives no signature.
package enum SignatureError: Error {
  /// The text cannot be called: the offset of the offending character, from 0, and a phrase that
  /// completes "the encoding".
  case refused(position: Int, reason: StaticString)
  case noMemory
  /// Calls of it need libffi, which cannot be loaded.
  case noForeignLibrary
  /// There are as many signatures as the table takes.
  case tableFull
}

extension Failure {
  /// What `SignatureError.noForeignLibrary` is to a client.
  package static func noForeignLibrary(_ subject: StaticString) -> Failure {
    Failure(Status.notSupported, subject, "needs libffi, which cannot be loaded")
  }
}
