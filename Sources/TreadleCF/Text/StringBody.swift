// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A string: UTF-8 with a NUL after it, and its length in UTF-16 units.
struct StringBody: Body {
  static var kind: Kind { .string }

  var bytes: UnsafeMutablePointer<UInt8>?
  var count: Int
  var length: Int
  var isMutable: Bool
  /// The next of the constant strings.
  var nextConstant: UInt = 0

  var isASCII: Bool { count == length }

  /// Takes a buffer of valid UTF-8; nil, with the buffer freed, if there is no memory.
  static func make(_ buffer: consuming ByteBuffer, mutable: Bool = false) -> UnsafeMutableRawPointer? {
    var buffer = buffer
    buffer.append(0)
    guard !buffer.failed, let bytes = buffer.bytes else {
      buffer.free()
      return nil
    }
    let count = buffer.count &- 1
    var body = StringBody(bytes: bytes, count: count, length: 0, isMutable: mutable)
    body.measure()
    let memory = allocate(body)
    if memory == nil { buffer.free() }
    return memory
  }

  static func make(_ text: StaticString) -> UnsafeMutableRawPointer? {
    var buffer = ByteBuffer()
    buffer.append(text)
    return make(buffer)
  }

  mutating func measure() {
    guard let bytes else { return }
    var length = 0, index = 0
    while index < count {
      // Continuation bytes add nothing, four-byte sequences are two units.
      let byte = bytes[index]
      if byte & 0xC0 != 0x80 { length &+= byte >= 0xF0 ? 2 : 1 }
      index &+= 1
    }
    self.length = length
  }

  mutating func append(_ from: UnsafePointer<UInt8>?, _ size: Int) {
    guard isMutable else { return complain("CFStringAppend") }
    var buffer = ByteBuffer()
    buffer.append(bytes, count)
    buffer.append(from, size)
    buffer.append(0)
    guard !buffer.failed else { return buffer.free() }
    treadle_cf_free(bytes)
    bytes = buffer.bytes
    count = buffer.count &- 1
    measure()
  }

  func isEqual(to other: StringBody) -> Bool {
    count == other.count && treadle_cf_compare(bytes, other.bytes, count) == 0
  }

  /// The byte where a UTF-16 unit's scalar begins, and which of its units it is; nil if it is not inside.
  func find(_ unit: Int) -> (byte: Int, unit: Int)? {
    if unit < 0 || unit > length { return nil }
    if isASCII { return (unit, 0) }
    guard var reader = UTF8Reader(self) else { return nil }
    var passed = 0
    while passed < unit {
      let before = reader.at
      guard let scalar = reader.next() else { return nil }
      if passed &+ units(scalar) > unit { return (before, unit &- passed) }
      passed &+= units(scalar)
    }
    return (reader.at, 0)
  }

  func contains(_ range: treadle_cf_range) -> Bool {
    range.location >= 0 && range.length >= 0 && range.location <= length && range.length <= length &- range.location
  }

  func free() { treadle_cf_free(bytes) }
}

@inline(__always)
func strings<Result>(
  _ string: UInt, _ function: StaticString, _ fallback: Result, _ work: (Pointer<StringBody>) -> Result
) -> Result {
  access(string, function, fallback, work)
}

func strings<Result>(
  _ one: UInt, _ other: UInt, _ function: StaticString, _ fallback: Result,
  _ work: (Pointer<StringBody>, Pointer<StringBody>) -> Result
) -> Result {
  pair(one, other, function, fallback, work)
}

/// Calls `work` with the text of a string that names something: a mode.
@inline(__always)
func withText<Result>(
  _ string: UInt, _ function: StaticString, _ fallback: Result, _ work: (UnsafePointer<CChar>) -> Result
) -> Result {
  strings(string, function, fallback) { body in
    guard let bytes = body.pointee.bytes else { return fallback }
    return work(UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))
  }
}
