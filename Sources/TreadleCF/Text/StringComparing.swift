// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFStringCompare")
public func cfStringCompare(_ one: UInt, _ other: UInt, _ options: UInt) -> Int {
  strings(one, other, "CFStringCompare", 0) { $0.pointee.text.compare($1.pointee.text, folding: options & 1 != 0) }
}

@_cdecl("CFStringHasPrefix")
public func cfStringHasPrefix(_ string: UInt, _ prefix: UInt) -> UInt8 {
  strings(string, prefix, "CFStringHasPrefix", 0) { string, prefix in
    prefix.pointee.text.length > 0 && string.pointee.text.has(prefix.pointee.text, at: 0) ? 1 : 0
  }
}

@_cdecl("CFStringHasSuffix")
public func cfStringHasSuffix(_ string: UInt, _ suffix: UInt) -> UInt8 {
  strings(string, suffix, "CFStringHasSuffix", 0) { string, suffix in
    let start = string.pointee.text.length &- suffix.pointee.text.length
    return suffix.pointee.text.length > 0 && string.pointee.text.has(suffix.pointee.text, at: start) ? 1 : 0
  }
}

@_cdecl("CFStringFind")
public func cfStringFind(_ string: UInt, _ wanted: UInt, _ options: UInt) -> treadle_cf_range {
  let nowhere = treadle_cf_range(location: -1, length: 0)
  return strings(string, wanted, "CFStringFind", nowhere) { string, wanted in
    let text = string.pointee.text, sought = wanted.pointee.text
    if sought.length == 0 { return nowhere }
    let last = text.length &- sought.length
    let backwards = options & 4 != 0, anchored = options & 8 != 0
    var at = backwards ? last : 0
    while at >= 0 && at <= last {
      if text.has(sought, at: at, folding: options & 1 != 0) {
        return treadle_cf_range(location: at, length: sought.length)
      }
      if anchored { break }
      at &+= backwards ? -1 : 1
    }
    return nowhere
  }
}

@_cdecl("CFStringGetIntValue")
public func cfStringGetIntValue(_ string: UInt) -> Int32 {
  texts(string, "CFStringGetIntValue", 0) { text in
    var at = skipSpaces(text, 0)
    let negative = text[at] == 0x2D
    if negative || text[at] == 0x2B { at = skipSpaces(text, at &+ 1) }
    var value: Int64 = 0
    while isDigit(text[at]), value <= 0x8000_0000 {
      value = value &* 10 &+ Int64(text[at] &- 0x30)
      at &+= 1
    }
    return Int32(clamping: negative ? 0 &- value : value)
  }
}

/// Only what is written in decimal digits: no "inf", "nan" or "0x10".
@_cdecl("CFStringGetDoubleValue")
public func cfStringGetDoubleValue(_ string: UInt) -> Double {
  texts(string, "CFStringGetDoubleValue", 0) { text in
    var number = ByteBuffer()
    defer { number.free() }
    var at = skipSpaces(text, 0)
    func take(_ is: (UInt16) -> Bool) -> Bool {
      let start = at
      while at < text.length, `is`(text[at]) {
        number.append(UInt8(truncatingIfNeeded: text[at]))
        at &+= 1
      }
      return at > start
    }
    func takeOne(_ one: UInt16, _ other: UInt16) {
      if at < text.length, text[at] == one || text[at] == other {
        number.append(UInt8(truncatingIfNeeded: text[at]))
        at &+= 1
      }
    }
    takeOne(0x2B, 0x2D)
    let hasWhole = take(isDigit)
    takeOne(0x2E, 0x2E)
    if !take(isDigit), !hasWhole { return 0 }
    takeOne(0x45, 0x65)
    takeOne(0x2B, 0x2D)
    _ = take(isDigit)
    // What follows the last digit, an exponent without any, is left to the function that reads numbers.
    number.append(0)
    guard !number.failed, let bytes = number.bytes else { return 0 }
    return treadle_cf_double_of_text(UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))
  }
}

private func isDigit(_ unit: UInt16) -> Bool { unit >= 0x30 && unit <= 0x39 }

private func skipSpaces(_ text: Text, _ start: Int) -> Int {
  var at = start
  while at < text.length, isSpace(text[at]) { at &+= 1 }
  return at
}

private func isSpace(_ unit: UInt16) -> Bool {
  switch unit {
  case 0x01...0x20, 0x7F...0xA0, 0x2000...0x200B, 0x3000: true
  default: false
  }
}
