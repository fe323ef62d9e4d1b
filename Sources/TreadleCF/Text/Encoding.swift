// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// How bytes stand for text.
enum Encoding {
  case utf8, ascii, latin1, macRoman
  case utf16(bigEndian: Bool)
  case utf32(bigEndian: Bool)

  init?(_ value: UInt32) {
    switch value {
    case 0x0800_0100: self = .utf8
    case 0x0600: self = .ascii
    case 0x0201: self = .latin1
    case 0: self = .macRoman
    case 0x0100, 0x1400_0100: self = .utf16(bigEndian: false)
    case 0x1000_0100: self = .utf16(bigEndian: true)
    case 0x0C00_0100, 0x1C00_0100: self = .utf32(bigEndian: false)
    case 0x1800_0100: self = .utf32(bigEndian: true)
    default: return nil
    }
  }

  /// Whether ASCII text has the same bytes.
  var containsASCII: Bool {
    switch self {
    case .utf8, .ascii, .latin1, .macRoman: true
    case .utf16, .utf32: false
    }
  }

  /// The bytes as UTF-8; nil if they are none of this encoding, or there is no memory.
  /// marked: a byte order mark at the beginning decides the order and is left out.
  func decode(_ bytes: UnsafePointer<UInt8>, _ count: Int, marked: Bool) -> ByteBuffer? {
    var out = ByteBuffer()
    guard out.reserve(count &+ 1), decode(bytes, count, marked, &out), !out.failed else {
      out.free()
      return nil
    }
    return out
  }

  private func decode(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ marked: Bool, _ out: inout ByteBuffer) -> Bool {
    switch self {
    case .utf8:
      var reader = UTF8Reader(bytes, count)
      if marked && count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF { reader.at = 3 }
      let start = reader.at
      while !reader.isAtEnd { if reader.next() == nil { return false } }
      out.append(bytes + start, count &- start)
      return true
    case .ascii, .latin1, .macRoman:
      var index = 0
      while index < count {
        guard let scalar = scalar(bytes[index]) else { return false }
        out.append(scalar: scalar)
        index &+= 1
      }
      return true
    case .utf16(let bigEndian): return Encoding.decode16(bytes, count, bigEndian, marked, &out)
    case .utf32(let bigEndian): return Encoding.decode32(bytes, count, bigEndian, marked, &out)
    }
  }

  /// A byte of the encodings that have one a character.
  private func scalar(_ byte: UInt8) -> UInt32? {
    if byte < 0x80 { return UInt32(byte) }
    switch self {
    case .latin1: return UInt32(byte)
    case .macRoman: return UInt32(treadle_cf_mac_roman(byte))
    default: return nil
    }
  }

  private static func decode16(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ bigEndian: Bool, _ marked: Bool, _ out: inout ByteBuffer
  ) -> Bool {
    if count & 1 != 0 { return false }
    var big = bigEndian
    var index = 0
    func read(_ at: Int) -> UInt32 {
      let one = UInt32(bytes[at]), other = UInt32(bytes[at &+ 1])
      return big ? one << 8 | other : other << 8 | one
    }
    if marked && count >= 2 {
      if read(0) == 0xFFFE { big = !big }
      if read(0) == 0xFEFF { index = 2 }
    }
    while index < count {
      var scalar = read(index)
      index &+= 2
      if scalar >> 11 == 0x1B {
        let second = index < count ? read(index) : 0
        if scalar < 0xDC00 && second >> 10 == 0x37 {
          scalar = 0x10000 &+ ((scalar & 0x3FF) << 10 | second & 0x3FF)
          index &+= 2
        } else {
          scalar = 0xFFFD
        }
      }
      out.append(scalar: scalar)
    }
    return true
  }

  private static func decode32(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ bigEndian: Bool, _ marked: Bool, _ out: inout ByteBuffer
  ) -> Bool {
    if count & 3 != 0 { return false }
    var big = bigEndian
    var index = 0
    func read(_ at: Int) -> UInt32 {
      let a = UInt32(bytes[at]), b = UInt32(bytes[at &+ 1]), c = UInt32(bytes[at &+ 2]), d = UInt32(bytes[at &+ 3])
      return big ? a << 24 | b << 16 | c << 8 | d : d << 24 | c << 16 | b << 8 | a
    }
    if marked && count >= 4 {
      if read(0) == 0xFFFE_0000 { big = !big }
      if read(0) == 0xFEFF { index = 4 }
    }
    while index < count {
      let scalar = read(index)
      if scalar > 0x10FFFF || scalar >> 11 == 0x1B { return false }
      out.append(scalar: scalar)
      index &+= 4
    }
    return true
  }

  /// Adds a scalar's bytes; false, with nothing added, if the encoding cannot say it.
  func encode(_ scalar: UInt32, _ out: inout ByteBuffer) -> Bool {
    switch self {
    case .utf8: out.append(scalar: scalar)
    case .ascii, .latin1, .macRoman:
      guard let byte = byte(scalar) else { return false }
      out.append(byte)
    case .utf16(let bigEndian):
      var index = 0
      while index < units(scalar) {
        let value = unit(scalar, index)
        let high = UInt8(truncatingIfNeeded: value >> 8), low = UInt8(truncatingIfNeeded: value)
        out.append(bigEndian ? high : low)
        out.append(bigEndian ? low : high)
        index &+= 1
      }
    case .utf32(let bigEndian):
      var index: UInt32 = 0
      while index < 4 {
        out.append(UInt8(truncatingIfNeeded: scalar >> (8 &* (bigEndian ? 3 &- index : index))))
        index &+= 1
      }
    }
    return true
  }

  private func byte(_ scalar: UInt32) -> UInt8? {
    if scalar < 0x80 { return UInt8(truncatingIfNeeded: scalar) }
    switch self {
    case .latin1: return scalar < 0x100 ? UInt8(truncatingIfNeeded: scalar) : nil
    case .macRoman:
      var byte: UInt8 = 0x80
      while true {
        if UInt32(treadle_cf_mac_roman(byte)) == scalar { return byte }
        if byte == 0xFF { return nil }
        byte &+= 1
      }
    default: return nil
    }
  }
}
