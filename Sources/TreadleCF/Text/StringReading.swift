// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFStringGetLength")
public func cfStringGetLength(_ string: UInt) -> Int { texts(string, "CFStringGetLength", 0) { $0.length } }

@_cdecl("CFStringGetCharacterAtIndex")
public func cfStringGetCharacterAtIndex(_ string: UInt, _ index: Int) -> UInt16 {
  texts(string, "CFStringGetCharacterAtIndex", 0) { text in
    if index < 0 || index >= text.length { complain("CFStringGetCharacterAtIndex") }
    return text[index]
  }
}

@_cdecl("CFStringGetCharacters")
public func cfStringGetCharacters(_ string: UInt, _ range: treadle_cf_range, _ buffer: UnsafeMutablePointer<UInt16>?) {
  texts(string, "CFStringGetCharacters", ()) { text in
    guard text.contains(range), let buffer else { return complain("CFStringGetCharacters") }
    var index = 0
    while index < range.length {
      buffer[index] = text[range.location &+ index]
      index &+= 1
    }
  }
}

@_cdecl("CFStringGetCStringPtr")
public func cfStringGetCStringPtr(_ string: UInt, _ encoding: UInt32) -> UnsafePointer<UInt8>? {
  guard let encoding = Encoding(encoding), encoding.containsASCII else { return nil }
  return strings(string, "CFStringGetCStringPtr", nil) { string in
    if case .utf8 = encoding { return UnsafePointer(string.pointee.utf8) }
    return UnsafePointer(string.pointee.text.ascii)
  }
}

@_cdecl("CFStringGetCString")
public func cfStringGetCString(
  _ string: UInt, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int, _ encoding: UInt32
) -> UInt8 {
  guard let buffer, size > 0 else { return 0 }
  buffer[0] = 0
  guard let encoding = Encoding(encoding) else { return 0 }
  return texts(string, "CFStringGetCString", 0) { text in
    var bytes = ByteBuffer()
    defer { bytes.free() }
    guard encode(text, text.whole, encoding, loss: 0, limit: size &- 1, &bytes) == text.length else { return 0 }
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
  return texts(string, "CFStringGetBytes", 0) { text in
    guard text.contains(range), maximum >= 0 || buffer == nil else {
      complain("CFStringGetBytes")
      return 0
    }
    var out = ByteBuffer()
    defer { out.free() }
    let limit = buffer == nil ? Int.max : maximum
    if external != 0, known.isUntold {
      _ = known.encode(0xFEFF, &out)
      if out.count > limit { return 0 }
    }
    let converted = encode(text, range, known, loss: loss, limit: limit, &out)
    used?.pointee = out.count
    if let buffer { treadle_cf_copy(buffer, out.bytes, out.count) }
    return converted
  }
}

/// Adds the bytes of a range as far as the encoding can say it, or has the loss byte for it, and they fit; how many
/// units that were.
private func encode(
  _ text: Text, _ range: treadle_cf_range, _ encoding: Encoding, loss: UInt8, limit: Int, _ out: inout ByteBuffer
) -> Int {
  var index = range.location
  let end = range.location &+ range.length
  while index < end {
    let scalar = text.scalar(index, encoding.hasUnits ? index : end)
    let before = out.count
    var step = units(scalar)
    if !encoding.encode(scalar, &out) {
      if loss == 0 || !encoding.encode(loss: loss, &out) { break }
      if encoding.losesUnits { step = 1 }
    }
    if out.failed || out.count > limit {
      out.count = before
      break
    }
    index &+= step
  }
  return index &- range.location
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
  if cfDataGetLength(data) == size {
    _ = cfStringGetBytes(string, range, encoding, loss, 1, cfDataGetMutableBytePtr(data), size, &size)
  }
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
