// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

extension StaticString {
  /// A constant of ours as C text, which is there for ever.
  @inline(__always)
  package var cText: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// Text that ends with NUL, looked at byte by byte: the compiler's own strings need memory.
package enum UTF8Text {
  /// Whether the text is UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
  package static func isWellFormed(_ text: UnsafePointer<CChar>) -> Bool {
    var next = text
    while next.pointee != 0 {
      let length = characterLength(next)
      if length == 0 { return false }
      next += length
    }
    return true
  }

  /// How many bytes the whole characters take that fit into `limit` bytes. The text is well formed.
  package static func prefix(of text: UnsafePointer<CChar>, atMost limit: Int) -> Int {
    var taken = 0
    while text[taken] != 0 {
      let length = max(characterLength(text + taken), 1)
      if taken &+ length > limit { break }
      taken &+= length
    }
    return taken
  }

  /// The length of the character at the front, 0 if it is malformed. Looks no further than the first byte
  /// that does not belong to it, so never past the NUL.
  static func characterLength(_ text: UnsafePointer<CChar>) -> Int {
    let first = UInt8(bitPattern: text[0])
    if first < 0x80 { return 1 }
    let length: Int
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF: length = 3
    case 0xF0...0xF4: length = 4
    default: return 0
    }
    // The second byte decides whether a long form was needed, and whether the character exists.
    let second = UInt8(bitPattern: text[1])
    switch first {
    case 0xE0: if second < 0xA0 { return 0 }
    case 0xED: if second > 0x9F { return 0 }
    case 0xF0: if second < 0x90 { return 0 }
    case 0xF4: if second > 0x8F { return 0 }
    default: break
    }
    var index = 1
    while index < length {
      if UInt8(bitPattern: text[index]) & 0xC0 != 0x80 { return 0 }
      index &+= 1
    }
    return length
  }
}
