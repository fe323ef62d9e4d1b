// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// How bytes stand for text.
enum Encoding {
  case utf8, ascii, latin1, macRoman
  case utf16(Order), utf32(Order)

  /// Which byte of a unit comes first. Text that is not told of any, neither by its name nor by a mark, has the most
  /// significant first if it comes from elsewhere; our own has the machine's.
  enum Order {
    case big, little, untold
  }

  init?(_ value: UInt32) {
    switch value {
    case 0x0800_0100: self = .utf8
    case 0x0600: self = .ascii
    case 0x0201: self = .latin1
    case 0: self = .macRoman
    case 0x0100: self = .utf16(.untold)
    case 0x1000_0100: self = .utf16(.big)
    case 0x1400_0100: self = .utf16(.little)
    case 0x0C00_0100: self = .utf32(.untold)
    case 0x1800_0100: self = .utf32(.big)
    case 0x1C00_0100: self = .utf32(.little)
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

  /// Whether it says its order by a mark.
  var isUntold: Bool {
    switch self {
    case .utf16(.untold), .utf32(.untold): true
    default: false
    }
  }

  /// The text of bytes; nil if they are none of this encoding, or there is no memory.
  /// external: they come from elsewhere, and may have a mark that says their order.
  func decode(_ bytes: UnsafePointer<UInt8>, _ count: Int, external: Bool) -> Text? {
    var out = Text()
    if decode(bytes, count, external, &out), !out.failed { return out }
    out.free()
    return nil
  }

  private func decode(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ external: Bool, _ out: inout Text) -> Bool {
    switch self {
    case .utf8:
      let mark = count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
      return out.append(utf8: bytes + mark, count &- mark)
    case .ascii, .latin1, .macRoman:
      var reader = UTF8Reader(bytes, count)
      out.append(ascii: bytes, reader.skipASCII())
      while reader.at < count {
        out.append(scalar: scalar(bytes[reader.at]))
        reader.at &+= 1
      }
      return true
    case .utf16(let order):
      if count == 1 && (external || order != .untold) { return false }
      Encoding.decode16(bytes, count, order, external, &out)
    case .utf32(let order): return Encoding.decode32(bytes, count, order, &out)
    }
    return true
  }

  /// A byte of the encodings that have one a character; one that is no ASCII is taken for ISO Latin 1, as
  /// CoreFoundation takes it.
  private func scalar(_ byte: UInt8) -> UInt32 {
    if case .macRoman = self, byte >= 0x80 { return UInt32(treadle_cf_mac_roman(byte)) }
    return UInt32(byte)
  }

  /// Part of a unit at the end is left out, there as here.
  private static func decode16(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ order: Order, _ external: Bool, _ out: inout Text
  ) {
    var isBig = order == .big || order == .untold && external
    var index = 0
    if order == .untold && external && count >= 2 {
      let isMark = bytes[0] == 0xFE && bytes[1] == 0xFF, isSwapped = bytes[0] == 0xFF && bytes[1] == 0xFE
      if isMark || isSwapped { index = 2 }
      if isSwapped { isBig = false }
    }
    if !isBig { return out.append(units: bytes + index, (count &- index) / 2) }
    while index &+ 1 < count {
      out.append(unit: UInt16(bytes[index]) << 8 | UInt16(bytes[index &+ 1]))
      index &+= 2
    }
  }

  private static func decode32(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ order: Order, _ out: inout Text) -> Bool {
    if count > 0 && count < 4 { return false }
    var isBig = order != .little
    var index = 0
    func read(_ at: Int) -> UInt32 {
      let a = UInt32(bytes[at]), b = UInt32(bytes[at &+ 1]), c = UInt32(bytes[at &+ 2]), d = UInt32(bytes[at &+ 3])
      return isBig ? a << 24 | b << 16 | c << 8 | d : d << 24 | c << 16 | b << 8 | a
    }
    if order == .untold && count >= 4 {
      if read(0) == 0xFFFE_0000 { isBig = false }
      if read(0) == 0xFEFF { index = 4 }
    }
    while index &+ 3 < count {
      let scalar = read(index)
      if scalar > 0x10FFFF || isHalf(scalar) { return false }
      out.append(scalar: scalar)
      index &+= 4
    }
    return true
  }

  /// Adds a scalar's bytes; false, with nothing added, if the encoding cannot say it.
  func encode(_ scalar: UInt32, _ out: inout ByteBuffer) -> Bool {
    switch self {
    case .utf8:
      if isHalf(scalar) { return false }
      out.append(scalar: scalar)
    case .ascii, .latin1, .macRoman:
      guard let byte = byte(scalar) else { return false }
      out.append(byte)
    case .utf16(let order):
      let bigEndian = order == .big
      var index = 0
      while index < units(scalar) {
        let value = unit(scalar, index)
        let high = UInt8(truncatingIfNeeded: value >> 8), low = UInt8(truncatingIfNeeded: value)
        out.append(bigEndian ? high : low)
        out.append(bigEndian ? low : high)
        index &+= 1
      }
    case .utf32(let order):
      if isHalf(scalar) { return false }
      let bigEndian = order == .big
      var index: UInt32 = 0
      while index < 4 {
        out.append(UInt8(truncatingIfNeeded: scalar >> (8 &* (bigEndian ? 3 &- index : index))))
        index &+= 1
      }
    }
    return true
  }

  /// Adds what stands for a character that the encoding cannot say; false for half of a pair in UTF-8.
  func encode(loss: UInt8, _ out: inout ByteBuffer) -> Bool {
    if case .utf8 = self { return false }
    return encode(UInt32(loss), &out)
  }

  /// Whether the units of a pair are its own, so that one may have room without the other.
  var hasUnits: Bool {
    if case .utf16 = self { return true }
    return false
  }

  /// Whether each unit of a pair is lost by itself where the encoding lacks the pair's character.
  var losesUnits: Bool {
    switch self {
    case .ascii, .latin1: true
    case .utf8, .macRoman, .utf16, .utf32: false
    }
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
