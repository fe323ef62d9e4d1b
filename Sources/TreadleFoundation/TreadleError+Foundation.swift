// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import Foundation
public import Treadle

/// What Foundation's own ways of showing an error show: else `localizedDescription` is “error 1”. Without Foundation,
/// and in `print`, the error is the same sentence.
extension TreadleError: LocalizedError, CustomNSError {
  /// The sentence and the code. Since 1.0.
  public var errorDescription: String? { description }
  /// The code, as the C interface's number. Since 1.0.
  public var errorCode: Int { Int(code.rawValue) }
  /// The sentence, under Foundation's key. Since 1.0.
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
