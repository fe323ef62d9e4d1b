// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Types that an Objective-C compiler can encode and that no signature takes by value. What a pointer
/// points to may be any of them.
enum ForeignType {
  /// Nothing follows: l, L, D, t, T, #, :, ?.
  case word
  /// The type that it changes follows: complex, atomic.
  case prefix
  /// Its width follows.
  case bitField
  /// Perhaps its class follows, in quotes, or the ? of a block.
  case object
  /// Its members follow.
  case union

  init?(_ character: UInt8) {
    switch Unicode.Scalar(character) {
    case "l", "L", "D", "t", "T", "#", ":", "?": self = .word
    case "j", "A": self = .prefix
    case "b": self = .bitField
    case "@": self = .object
    case "(": self = .union
    default: return nil
    }
  }

  /// Why a character is not the beginning of a type by value.
  static func refusal(of character: UInt8) -> StaticString {
    switch Unicode.Scalar(character) {
    case "l", "L": return "has l or L, whose size depends on the platform: use i, I, q or Q"
    case "D": return "has a long double, which is not supported"
    case "t", "T": return "has a 128-bit integer, which is not supported"
    case "j": return "has a complex number, which is not supported"
    case "A": return "has an atomic type, which is not supported"
    case "b": return "has a bit-field, which cannot be passed"
    case "(": return "has a union by value, which cannot be passed"
    case "@": return "has an object, which is not supported"
    case "#": return "has a class, which is not supported"
    case ":": return "has a selector, which is not supported"
    case "?": return "has an unknown type: a function pointer is ^?"
    case "}", "]", ")": return "has a closing bracket too many"
    case "V": return "has V (oneway) elsewhere than before the result"
    default: return "has a character that does not begin a type"
    }
  }
}
