// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFStringCompare")
public func cfStringCompare(_ one: UInt, _ other: UInt, _ options: UInt) -> Int {
  strings(one, other, "CFStringCompare", 0) { compare($0.pointee, $1.pointee, options) }
}

@_cdecl("CFStringHasPrefix")
public func cfStringHasPrefix(_ string: UInt, _ prefix: UInt) -> UInt8 {
  strings(string, prefix, "CFStringHasPrefix", 0) { string, prefix in
    let count = prefix.pointee.count
    return count <= string.pointee.count && treadle_cf_compare(string.pointee.bytes, prefix.pointee.bytes, count) == 0 ? 1 : 0
  }
}

@_cdecl("CFStringHasSuffix")
public func cfStringHasSuffix(_ string: UInt, _ suffix: UInt) -> UInt8 {
  strings(string, suffix, "CFStringHasSuffix", 0) { string, suffix in
    guard let bytes = string.pointee.bytes else { return 0 }
    let start = string.pointee.count &- suffix.pointee.count
    return start >= 0 && treadle_cf_compare(bytes + start, suffix.pointee.bytes, suffix.pointee.count) == 0 ? 1 : 0
  }
}

@_cdecl("CFStringFind")
public func cfStringFind(_ string: UInt, _ wanted: UInt, _ options: UInt) -> treadle_cf_range {
  let nowhere = treadle_cf_range(location: -1, length: 0)
  return strings(string, wanted, "CFStringFind", nowhere) { string, wanted in
    guard let bytes = string.pointee.bytes, let sought = wanted.pointee.bytes, wanted.pointee.count > 0 else { return nowhere }
    let last = string.pointee.count &- wanted.pointee.count
    let backwards = options & 4 != 0, anchored = options & 8 != 0
    var at = backwards ? last : 0
    while at >= 0 && at <= last {
      if isSame(bytes + at, sought, wanted.pointee.count, options) {
        var before = string.pointee
        before.count = at
        before.measure()
        return treadle_cf_range(location: before.length, length: wanted.pointee.length)
      }
      if anchored { break }
      at &+= backwards ? -1 : 1
    }
    return nowhere
  }
}

@_cdecl("CFStringGetIntValue")
public func cfStringGetIntValue(_ string: UInt) -> Int32 {
  strings(string, "CFStringGetIntValue", 0) { string in
    guard let bytes = string.pointee.bytes else { return 0 }
    var at = 0
    while bytes[at] == 0x20 || bytes[at] == 0x09 || bytes[at] == 0x0A { at &+= 1 }
    let negative = bytes[at] == 0x2D
    if negative || bytes[at] == 0x2B { at &+= 1 }
    var value: Int64 = 0
    while bytes[at] >= 0x30 && bytes[at] <= 0x39 {
      value = value &* 10 &+ Int64(bytes[at] &- 0x30)
      if value > 0x8000_0000 { break }
      at &+= 1
    }
    return Int32(clamping: negative ? 0 &- value : value)
  }
}

@_cdecl("CFStringGetDoubleValue")
public func cfStringGetDoubleValue(_ string: UInt) -> Double {
  withText(string, "CFStringGetDoubleValue", 0) { treadle_cf_double_of_text($0) }
}

@inline(__always)
private func folded(_ byte: UInt8, _ options: UInt) -> UInt8 {
  options & 1 != 0 && byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
}

private func isSame(_ one: UnsafeMutablePointer<UInt8>, _ other: UnsafeMutablePointer<UInt8>, _ count: Int, _ options: UInt) -> Bool {
  var index = 0
  while index < count {
    if folded(one[index], options) != folded(other[index], options) { return false }
    index &+= 1
  }
  return true
}

/// By UTF-16 units, in which characters outside of the first plane come before those at its end.
private func compare(_ one: StringBody, _ other: StringBody, _ options: UInt) -> Int {
  guard var a = UTF8Reader(one), var b = UTF8Reader(other) else { return 0 }
  while true {
    let left = a.next(), right = b.next()
    guard let left else { return right == nil ? 0 : -1 }
    guard let right else { return 1 }
    let x = left < 0x80 ? UInt32(folded(UInt8(truncatingIfNeeded: left), options)) : left
    let y = right < 0x80 ? UInt32(folded(UInt8(truncatingIfNeeded: right), options)) : right
    if x != y {
      let first = unit(x, 0), second = unit(y, 0)
      return first != second ? (first < second ? -1 : 1) : (x < y ? -1 : 1)
    }
  }
}
