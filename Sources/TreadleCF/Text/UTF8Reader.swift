// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Reads scalars from bytes that may be anything.
struct UTF8Reader {
  let bytes: UnsafePointer<UInt8>
  let count: Int
  var at = 0

  init(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
    self.bytes = bytes
    self.count = count
  }

  var isAtEnd: Bool { at >= count }

  /// Passes over ASCII; how many bytes.
  mutating func skipASCII() -> Int {
    let start = at
    while at < count, bytes[at] < 0x80 { at &+= 1 }
    return at &- start
  }

  /// The next scalar; nil at the end and for bytes that are no UTF-8.
  mutating func next() -> UInt32? {
    guard at < count else { return nil }
    let first = UInt32(bytes[at])
    if first < 0x80 {
      at &+= 1
      return first
    }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first <= 0xF4, at &+ length <= count else { return nil }
    var scalar = first & (length == 2 ? 0x1F : length == 3 ? 0x0F : 0x07)
    var index = 1
    while index < length {
      let byte = UInt32(bytes[at &+ index])
      if byte & 0xC0 != 0x80 { return nil }
      scalar = scalar << 6 | byte & 63
      index &+= 1
    }
    let smallest: UInt32 = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000
    if scalar < smallest || scalar > 0x10FFFF || scalar >> 11 == 0x1B { return nil }
    at &+= length
    return scalar
  }
}

/// How many UTF-16 units a scalar takes.
@inline(__always)
func units(_ scalar: UInt32) -> Int { scalar >= 0x10000 ? 2 : 1 }

/// One of a scalar's UTF-16 units.
@inline(__always)
func unit(_ scalar: UInt32, _ index: Int) -> UInt16 {
  if scalar < 0x10000 { return UInt16(truncatingIfNeeded: scalar) }
  let rest = scalar &- 0x10000
  return UInt16(truncatingIfNeeded: index == 0 ? 0xD800 | rest >> 10 : 0xDC00 | rest & 0x3FF)
}
