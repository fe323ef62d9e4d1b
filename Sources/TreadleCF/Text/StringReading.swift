// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFStringGetLength")
public func cfStringGetLength(_ string: UInt) -> Int { strings(string, "CFStringGetLength", 0) { $0.pointee.length } }

@_cdecl("CFStringGetCharacterAtIndex")
public func cfStringGetCharacterAtIndex(_ string: UInt, _ index: Int) -> UInt16 {
  strings(string, "CFStringGetCharacterAtIndex", 0) { string in
    guard index < string.pointee.length, let place = string.pointee.find(index), var reader = UTF8Reader(string.pointee)
    else {
      complain("CFStringGetCharacterAtIndex")
      return 0
    }
    reader.at = place.byte
    return unit(reader.next() ?? 0, place.unit)
  }
}

@_cdecl("CFStringGetCharacters")
public func cfStringGetCharacters(_ string: UInt, _ range: treadle_cf_range, _ buffer: UnsafeMutablePointer<UInt16>?) {
  strings(string, "CFStringGetCharacters", ()) { string in
    guard string.pointee.contains(range), let buffer else { return complain("CFStringGetCharacters") }
    forEachUnit(string.pointee, range) { index, value in buffer[index] = value }
  }
}

@_cdecl("CFStringGetCStringPtr")
public func cfStringGetCStringPtr(_ string: UInt, _ encoding: UInt32) -> UnsafePointer<UInt8>? {
  guard let encoding = Encoding(encoding) else { return nil }
  return strings(string, "CFStringGetCStringPtr", nil) { string in
    if case .utf8 = encoding { return UnsafePointer(string.pointee.bytes) }
    return encoding.containsASCII && string.pointee.isASCII ? UnsafePointer(string.pointee.bytes) : nil
  }
}

@_cdecl("CFStringGetCString")
public func cfStringGetCString(
  _ string: UInt, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int, _ encoding: UInt32
) -> UInt8 {
  guard let buffer, size > 0 else { return 0 }
  buffer[0] = 0
  guard let encoding = Encoding(encoding), encoding.containsASCII else { return 0 }
  return strings(string, "CFStringGetCString", 0) { string in
    guard var bytes = encoded(string.pointee, encoding, limit: size &- 1) else { return 0 }
    defer { bytes.free() }
    treadle_cf_copy(buffer, bytes.bytes, bytes.count)
    buffer[bytes.count] = 0
    return 1
  }
}

@_cdecl("CFStringGetBytes")
public func cfStringGetBytes(
  _ string: UInt, _ range: treadle_cf_range, _ encoding: UInt32, _ loss: UInt8, _ external: UInt8,
  _ buffer: UnsafeMutablePointer<UInt8>?, _ maximum: Int, _ used: UnsafeMutablePointer<Int>?
) -> Int {
  used?.pointee = 0
  guard let known = Encoding(encoding) else { return 0 }
  return strings(string, "CFStringGetBytes", 0) { string in
    guard string.pointee.contains(range), maximum >= 0 || buffer == nil else {
      complain("CFStringGetBytes")
      return 0
    }
    var out = ByteBuffer()
    let limit = buffer == nil ? Int.max : maximum
    // The two encodings without an order say theirs by a mark.
    if external != 0, encoding == 0x0100 || encoding == 0x0C00_0100 { _ = known.encode(0xFEFF, &out) }
    var converted = 0
    if out.count <= limit {
      forEachScalar(string.pointee, range) { scalar in
        let before = out.count
        if !known.encode(scalar, &out) {
          if loss == 0 { return false }
          out.append(loss)
        }
        if out.failed || out.count > limit {
          out.count = before
          return false
        }
        converted &+= units(scalar)
        return true
      }
      used?.pointee = out.count
      if let buffer { treadle_cf_copy(buffer, out.bytes, out.count) }
    }
    out.free()
    return min(converted, range.length)
  }
}

@_cdecl("CFStringCreateExternalRepresentation")
public func cfStringCreateExternalRepresentation(
  _ allocator: UInt, _ string: UInt, _ encoding: UInt32, _ loss: UInt8
) -> UInt {
  let range = treadle_cf_range(location: 0, length: cfStringGetLength(string))
  var size = 0
  guard cfStringGetBytes(string, range, encoding, loss, 1, nil, 0, &size) == range.length else { return 0 }
  let data = cfDataCreateMutable(allocator, 0)
  cfDataSetLength(data, size)
  if cfDataGetLength(data) == size { _ = cfStringGetBytes(string, range, encoding, loss, 1, cfDataGetMutableBytePtr(data), size, &size) }
  return data
}

@_cdecl("CFStringGetMaximumSizeForEncoding")
public func cfStringGetMaximumSizeForEncoding(_ length: Int, _ encoding: UInt32) -> Int {
  guard let encoding = Encoding(encoding), length >= 0 else { return -1 }
  let width =
    switch encoding {
    case .utf8: 3
    case .ascii, .latin1, .macRoman: 1
    case .utf16: 2
    case .utf32: 4
    }
  let (size, overflow) = length.multipliedReportingOverflow(by: width)
  return overflow ? -1 : size
}

@_cdecl("CFStringIsEncodingAvailable")
public func cfStringIsEncodingAvailable(_ encoding: UInt32) -> UInt8 { Encoding(encoding) == nil ? 0 : 1 }

@_cdecl("CFStringGetSystemEncoding") public func cfStringGetSystemEncoding() -> UInt32 { 0x0800_0100 }

/// All of a string in an encoding, if that can say it and it fits.
private func encoded(_ string: StringBody, _ encoding: Encoding, limit: Int) -> ByteBuffer? {
  var out = ByteBuffer()
  var complete = true
  forEachScalar(string, treadle_cf_range(location: 0, length: string.length)) { scalar in
    complete = encoding.encode(scalar, &out) && out.count <= limit && !out.failed
    return complete
  }
  if complete { return out }
  out.free()
  return nil
}

/// Calls `work` with the scalars of a range; half of a pair at its ends counts as U+FFFD.
func forEachScalar(_ string: StringBody, _ range: treadle_cf_range, _ work: (UInt32) -> Bool) {
  guard range.length > 0, let place = string.find(range.location), var reader = UTF8Reader(string) else { return }
  reader.at = place.byte
  var left = range.length
  if place.unit != 0 {
    _ = reader.next()
    if !work(0xFFFD) { return }
    left &-= 1
  }
  while left > 0, let scalar = reader.next() {
    let whole = units(scalar) <= left
    if !work(whole ? scalar : 0xFFFD) { return }
    left &-= whole ? units(scalar) : 1
  }
}

/// Calls `work` with each UTF-16 unit of a range and its number in it.
func forEachUnit(_ string: StringBody, _ range: treadle_cf_range, _ work: (Int, UInt16) -> Void) {
  guard range.length > 0, let place = string.find(range.location), var reader = UTF8Reader(string) else { return }
  reader.at = place.byte
  var index = 0, skip = place.unit
  while index < range.length, let scalar = reader.next() {
    var part = skip
    skip = 0
    while part < units(scalar) && index < range.length {
      work(index, unit(scalar, part))
      part &+= 1
      index &+= 1
    }
  }
}
