// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Text in a buffer of fixed size: always ended with NUL, cut where there is no more room.
package struct FixedText {
  private let room: UnsafeMutableRawBufferPointer
  /// How long the text would be with room enough.
  package private(set) var length = 0

  package init(_ room: UnsafeMutableRawBufferPointer) {
    self.room = room
    terminate()
  }

  private func terminate() {
    if room.count > 0 { room[min(length, room.count &- 1)] = 0 }
  }

  package mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { append($0) }
  }

  package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    for byte in bytes {
      if length &+ 1 < room.count { room[length] = byte }
      length &+= 1
    }
    terminate()
  }

  package mutating func append(_ text: UnsafePointer<CChar>) {
    var next = text
    while next.pointee != 0 {
      if length &+ 1 < room.count { room[length] = UInt8(bitPattern: next.pointee) }
      length &+= 1
      next += 1
    }
    terminate()
  }

  /// Text that may be malformed: U+FFFD in place of each byte that belongs to no character.
  package mutating func appendValid(_ text: UnsafePointer<CChar>) {
    var next = text
    while next.pointee != 0 {
      let size = UTF8Text.characterLength(next)
      if size == 0 { append("\u{FFFD}") }
      for _ in 0..<size {
        if length &+ 1 < room.count { room[length] = UInt8(bitPattern: next.pointee) }
        length &+= 1
        next += 1
      }
      if size == 0 { next += 1 }
    }
    terminate()
  }

  /// What was cut in the middle of a character of UTF-8 ends before that.
  package func dropPartOfCharacter() {
    if length < room.count || room.count == 0 { return }
    var end = room.count &- 1
    while end > 0 && room[end &- 1] & 0xC0 == 0x80 { end &-= 1 }
    // The first byte of the last character, which may be there with all that follows.
    if end > 0 && room[end &- 1] >= 0xC0 {
      let first = room[end &- 1]
      let size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
      if room.count &- 1 &- (end &- 1) < size { room[end &- 1] = 0 }
    }
  }

  package mutating func append(_ number: Int64) {
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { buffer in
      var rest = number.magnitude
      var start = buffer.count
      repeat {
        start &-= 1
        buffer[start] = 48 &+ UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      if number < 0 {
        start &-= 1
        buffer[start] = 45
      }
      let used = UnsafeRawBufferPointer(rebasing: buffer[start...])
      used.withMemoryRebound(to: UInt8.self) { append($0) }
    }
  }
}
