// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// Bytes.
struct DataBody: Body {
  static var kind: Kind { .data }

  var bytes: UnsafeMutablePointer<UInt8>?
  var count: Int
  var capacity: Int
  var isMutable: Bool
  /// The bytes are the client's, and are left to it.
  var isBorrowed: Bool

  static func make(_ from: UnsafePointer<UInt8>?, _ count: Int, mutable: Bool) -> UInt {
    var buffer = ByteBuffer()
    if !buffer.reserve(count) { return 0 }
    buffer.append(from, count)
    let body = DataBody(
      bytes: buffer.bytes, count: count, capacity: buffer.capacity, isMutable: mutable, isBorrowed: false)
    guard let memory = allocate(body) else {
      buffer.free()
      return 0
    }
    return Slot.make(.data, memory)
  }

  func isEqual(to other: DataBody) -> Bool {
    count == other.count && treadle_cf_compare(bytes, other.bytes, count) == 0
  }

  func contains(_ range: treadle_cf_range) -> Bool {
    range.location >= 0 && range.length >= 0 && range.location <= count && range.length <= count &- range.location
  }

  /// Replaces a range; new bytes without a source are 0.
  mutating func replace(_ range: treadle_cf_range, _ with: UnsafePointer<UInt8>?, _ size: Int) -> Bool {
    guard isMutable, contains(range), size >= 0 else { return false }
    let (grown, overflow) = (count &- range.length).addingReportingOverflow(size)
    if overflow { return false }
    if grown > capacity {
      let room = max(grown, min(capacity, Int.max / 4) &* 2, 32)
      guard let memory = treadle_cf_reallocate(bytes, room) else { return false }
      bytes = memory.assumingMemoryBound(to: UInt8.self)
      capacity = room
    }
    guard let bytes else { return size == 0 }
    let tail = range.location &+ range.length
    treadle_cf_copy(bytes + (range.location &+ size), bytes + tail, count &- tail)
    if let with {
      treadle_cf_copy(bytes + range.location, with, size)
    } else if size > 0 {
      (bytes + range.location).initialize(repeating: 0, count: size)
    }
    count = grown
    return true
  }

  func free() {
    if !isBorrowed { treadle_cf_free(bytes) }
  }
}
