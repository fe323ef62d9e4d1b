// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// Bytes that grow. Once there was no memory, it takes nothing more and says so.
struct ByteBuffer {
  var bytes: UnsafeMutablePointer<UInt8>?
  var count = 0
  var capacity = 0
  var failed = false

  init() {}

  /// Makes room for so many more bytes.
  mutating func reserve(_ more: Int) -> Bool {
    let (needed, overflow) = count.addingReportingOverflow(more)
    if failed || overflow || more < 0 {
      failed = true
      return false
    }
    if needed <= capacity { return true }
    let size = max(needed, capacity &* 2, 32)
    guard let memory = treadle_cf_reallocate(bytes, size) else {
      failed = true
      return false
    }
    bytes = memory.assumingMemoryBound(to: UInt8.self)
    capacity = size
    return true
  }

  mutating func append(_ byte: UInt8) {
    if reserve(1), let bytes {
      bytes[count] = byte
      count &+= 1
    }
  }

  mutating func append(_ from: UnsafeRawPointer?, _ size: Int) {
    if size > 0, reserve(size), let bytes {
      treadle_cf_copy(bytes + count, from, size)
      count &+= size
    }
  }

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { append($0.baseAddress, $0.count) }
  }

  mutating func append(scalar: UInt32) {
    if scalar < 0x80 {
      append(UInt8(truncatingIfNeeded: scalar))
    } else if scalar < 0x800 {
      append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
      append(UInt8(truncatingIfNeeded: 0x80 | scalar & 63))
    } else if scalar < 0x10000 {
      append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
      append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 63))
      append(UInt8(truncatingIfNeeded: 0x80 | scalar & 63))
    } else {
      append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
      append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 63))
      append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 63))
      append(UInt8(truncatingIfNeeded: 0x80 | scalar & 63))
    }
  }

  mutating func free() {
    treadle_cf_free(bytes)
    self = ByteBuffer()
  }
}
