// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A cursor over the characters of an encoding: the one place of the parser that touches memory.
/// It never moves past the end, and what it points to must outlive it.
struct EncodingReader {
  private let text: UnsafeBufferPointer<UInt8>
  /// The offset of the next character.
  private(set) var position = 0

  init(_ text: UnsafeBufferPointer<UInt8>) {
    self.text = text
  }

  /// The next character, or nil at the end.
  var next: UInt8? {
    position < text.count ? text[position] : nil
  }

  /// Steps over the next character, which the caller has looked at.
  mutating func skip() {
    if position < text.count { position &+= 1 }
  }

  /// Steps over the next character if it is this one.
  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard let next, next == UInt8(ascii: character) else { return false }
    skip()
    return true
  }

  /// Steps over digits. Their value, held at `ceiling`; nil where there is no digit.
  mutating func number(ceiling: Int) -> Int? {
    var value: Int?
    while let next, next >= UInt8(ascii: "0"), next <= UInt8(ascii: "9") {
      let digit = Int(next &- UInt8(ascii: "0"))
      value = min((value ?? 0) &* 10 &+ digit, ceiling)
      skip()
    }
    return value
  }
}
