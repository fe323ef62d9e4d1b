// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Writes text into a caller's buffer as far as it reaches, and counts all of it.
package struct TextWriter {
  private let buffer: UnsafeMutableBufferPointer<UInt8>
  /// Bytes written, and those that found no room.
  package private(set) var length = 0

  /// A writer at the beginning of a buffer, which must outlive it.
  package init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
    self.buffer = buffer
  }

  /// One byte.
  package mutating func append(_ byte: UInt8) {
    if length < buffer.count { buffer[length] = byte }
    length &+= 1
  }

  /// A constant text.
  package mutating func append(_ text: StaticString) {
    for offset in 0..<text.utf8CodeUnitCount { append(text.utf8Start[offset]) }
  }

  /// A number that is not negative.
  package mutating func append(_ number: Int) {
    if number >= 10 { append(number / 10) }
    append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
  }

  /// Ends the text with NUL, over its last byte if the buffer is full.
  package func terminate() {
    guard buffer.count > 0 else { return }
    buffer[min(length, buffer.count &- 1)] = 0
  }
}
