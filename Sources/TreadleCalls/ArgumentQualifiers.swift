// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What an encoding says of a value besides its type, as far as anybody heeds it: O, N and o of arguments that are
/// pointers, V of the result.
package struct ArgumentQualifiers: BitwiseCopyable, Equatable, Sendable {
  private var bits: UInt8 = 0

  private static let byCopy: UInt8 = 1
  private static let inOut: UInt8 = 2
  private static let out: UInt8 = 4
  private static let oneway: UInt8 = 8

  init() {}

  /// Takes note of a character; the others change nothing.
  mutating func insert(_ character: UInt8) {
    switch Unicode.Scalar(character) {
    case "O": bits |= ArgumentQualifiers.byCopy
    case "N": bits |= ArgumentQualifiers.inOut
    case "o": bits |= ArgumentQualifiers.out
    case "V": bits |= ArgumentQualifiers.oneway
    default: break
    }
  }

  /// Only what a result, or a pointer argument, can have.
  func kept(forResult: Bool, isPointer: Bool) -> ArgumentQualifiers {
    var kept = self
    kept.bits &= forResult ? ArgumentQualifiers.oneway : isPointer ? ~ArgumentQualifiers.oneway : 0
    return kept
  }

  /// O: the callee gets a copy of what the pointer points to.
  package var isByCopy: Bool { bits & ArgumentQualifiers.byCopy != 0 }
  /// O, and neither N nor o.
  var isByCopyAlone: Bool { bits == ArgumentQualifiers.byCopy }
  /// N: the same, and what it has become is given back.
  package var isInOut: Bool { bits & ArgumentQualifiers.inOut != 0 }
  /// o, without N: what the pointer points to is only given back.
  package var isOut: Bool { bits & (ArgumentQualifiers.out | ArgumentQualifiers.inOut) == ArgumentQualifiers.out }
  /// V: nobody waits for the result.
  package var isOneway: Bool { bits & ArgumentQualifiers.oneway != 0 }
  /// Any of the three that have a buffer in the callee's place.
  package var hasBuffer: Bool { bits & ~ArgumentQualifiers.oneway != 0 }

  /// Each once, in one order.
  func write(to writer: inout TextWriter) {
    if isOneway { writer.append("V") }
    if isByCopy { writer.append("O") }
    if isInOut { writer.append("N") }
    if isOut { writer.append("o") }
  }

  /// For a prototype, where they are comments.
  func describe(to writer: inout TextWriter) {
    if isOneway { writer.append("/* oneway */ ") }
    if isByCopy { writer.append("/* by copy */ ") }
    if isInOut { writer.append("/* in and out */ ") }
    if isOut { writer.append("/* out */ ") }
  }
}
