// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// One line of text that is written at once, so that lines of several threads do not mix.
package struct TextLine {
  private let room: UnsafeMutableBufferPointer<UInt8>
  private var length = 0

  package init(_ room: UnsafeMutableBufferPointer<UInt8>) { self.room = room }

  /// Room for the line's end is always kept; what is too long is cut.
  private mutating func append(_ byte: UInt8) {
    if length &+ 1 >= room.count { return }
    // A line break inside would make two lines of it.
    room[length] = byte < 32 || byte == 127 ? 32 : byte
    length &+= 1
  }

  package mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes in
      for byte in bytes { append(byte) }
    }
  }

  package mutating func append(_ text: UnsafePointer<CChar>) {
    var next = text
    while next.pointee != 0 && length &+ 1 < room.count {
      append(UInt8(bitPattern: next.pointee))
      next += 1
    }
  }

  package mutating func append(_ number: UInt32) {
    var divisor: UInt32 = 1_000_000_000
    while divisor > 1 && number < divisor { divisor /= 10 }
    while divisor > 0 {
      append(48 &+ UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    }
  }

  package mutating func write(to descriptor: Int32) {
    if length >= room.count { return }
    room[length] = 10
    _ = treadle_system_write(descriptor, room.baseAddress, length &+ 1)
  }
}
