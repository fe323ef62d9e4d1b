// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// Text that grows: its UTF-16 units, a byte each as long as all of them are ASCII, with a NUL after those bytes. Units
/// are any at all, also half of a surrogate pair. Once there was no memory, it takes nothing more and says so.
struct Text {
  private var memory: UnsafeMutableRawPointer?
  private(set) var length = 0
  private var capacity = 0
  private(set) var isASCII = true
  private(set) var failed = false

  init() {}

  /// The bytes of ASCII text, with their NUL; nil for other text, and before anything was added or reserved.
  var ascii: UnsafeMutablePointer<UInt8>? { isASCII ? memory?.assumingMemoryBound(to: UInt8.self) : nil }
  private var wide: UnsafeMutablePointer<UInt16>? { isASCII ? nil : memory?.assumingMemoryBound(to: UInt16.self) }
  private var width: Int { isASCII ? 1 : 2 }

  @inline(__always)
  subscript(index: Int) -> UInt16 {
    guard index >= 0, index < length, let memory else { return 0 }
    return isASCII
      ? UInt16(memory.assumingMemoryBound(to: UInt8.self)[index]) : memory.assumingMemoryBound(to: UInt16.self)[index]
  }

  func contains(_ range: treadle_cf_range) -> Bool {
    range.location >= 0 && range.length >= 0 && range.location <= length && range.length <= length &- range.location
  }

  /// Makes room for so many more units; twice of what there is, so that appending one by one costs as much as at once.
  mutating func reserve(_ more: Int) -> Bool {
    let (needed, overflow) = length.addingReportingOverflow(more)
    if failed || overflow || more < 0 || needed >= Int.max / 8 {
      failed = true
      return false
    }
    if needed <= capacity, memory != nil { return true }
    let size = max(needed, capacity &* 2, 15)
    guard let grown = treadle_cf_reallocate(memory, (size &+ 1) &* width) else {
      failed = true
      return false
    }
    memory = grown
    capacity = size
    end()
    return true
  }

  private mutating func end() {
    if isASCII { memory?.storeBytes(of: 0, toByteOffset: length, as: UInt8.self) }
  }

  /// From now on each unit has two bytes.
  private mutating func widen() -> Bool {
    if !isASCII { return true }
    let room = max(capacity, 15)
    guard !failed, let grown = treadle_cf_allocate((room &+ 1) &* 2) else {
      failed = true
      return false
    }
    let units = grown.bindMemory(to: UInt16.self, capacity: room &+ 1)
    var index = 0
    while index < length {
      units[index] = self[index]
      index &+= 1
    }
    treadle_cf_free(memory)
    memory = grown
    capacity = room
    isASCII = false
    return true
  }

  mutating func append(unit: UInt16) {
    if unit >= 0x80, !widen() { return }
    guard reserve(1), let memory else { return }
    if isASCII {
      memory.storeBytes(of: UInt8(truncatingIfNeeded: unit), toByteOffset: length, as: UInt8.self)
    } else {
      memory.storeBytes(of: unit, toByteOffset: length &* 2, as: UInt16.self)
    }
    length &+= 1
    end()
  }

  mutating func append(scalar: UInt32) {
    append(unit: unit(scalar, 0))
    if scalar >= 0x10000 { append(unit: unit(scalar, 1)) }
  }

  /// Adds bytes that are ASCII.
  mutating func append(ascii: UnsafePointer<UInt8>?, _ count: Int) {
    guard count > 0, let ascii, reserve(count), let memory else { return }
    if isASCII {
      treadle_cf_copy(memory + length, ascii, count)
    } else {
      var index = 0
      while index < count {
        memory.storeBytes(of: UInt16(ascii[index]), toByteOffset: (length &+ index) &* 2, as: UInt16.self)
        index &+= 1
      }
    }
    length &+= count
    end()
  }

  mutating func append(_ text: StaticString) { text.withUTF8Buffer { append(ascii: $0.baseAddress, $0.count) } }

  /// Adds UTF-16 units in the machine's order, which need not be aligned.
  mutating func append(units: UnsafeRawPointer?, _ count: Int) {
    guard count > 0, let units else { return }
    var index = 0
    while index < count, units.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self) < 0x80 { index &+= 1 }
    if index < count, !widen() { return }
    guard reserve(count), let memory else { return }
    if isASCII {
      index = 0
      while index < count {
        let unit = units.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self)
        memory.storeBytes(of: UInt8(truncatingIfNeeded: unit), toByteOffset: length &+ index, as: UInt8.self)
        index &+= 1
      }
    } else {
      treadle_cf_copy(memory + length &* 2, units, count &* 2)
    }
    length &+= count
    end()
  }

  /// Adds a part of a text, which is not this one.
  mutating func append(_ other: Text, _ range: treadle_cf_range) {
    guard other.contains(range) else { return }
    if let bytes = other.ascii { append(ascii: bytes + range.location, range.length) }
    if let units = other.wide { append(units: units + range.location, range.length) }
  }

  mutating func append(_ other: Text) { append(other, other.whole) }

  /// Adds itself.
  mutating func double() {
    guard reserve(length) else { return }
    // There is room, so that nothing moves.
    append(self, whole)
  }

  /// Adds UTF-8. False for bytes that are not UTF-8; what stands before them has been added then.
  mutating func append(utf8: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    var reader = UTF8Reader(utf8, count)
    let plain = reader.skipASCII()
    append(ascii: utf8, plain)
    while !reader.isAtEnd {
      guard let scalar = reader.next() else { return false }
      append(scalar: scalar)
    }
    return true
  }

  var whole: treadle_cf_range { treadle_cf_range(location: 0, length: length) }

  /// The scalar at an index, of one unit or two below a limit; half of a pair is told as it is.
  @inline(__always)
  func scalar(_ index: Int, _ limit: Int) -> UInt32 {
    let first = UInt32(self[index])
    if first >> 10 != 0x36 || index &+ 1 >= limit { return first }
    let second = UInt32(self[index &+ 1])
    return second >> 10 == 0x37 ? 0x10000 &+ ((first & 0x3FF) << 10 | second & 0x3FF) : first
  }

  /// The text as UTF-8 with a NUL, half of a pair as U+FFFD; to be freed.
  func utf8() -> ByteBuffer {
    var out = ByteBuffer()
    if let ascii {
      out.append(ascii, length)
    } else {
      var index = 0
      while index < length {
        let scalar = scalar(index, length)
        out.append(scalar: isHalf(scalar) ? 0xFFFD : scalar)
        index &+= units(scalar)
      }
    }
    out.append(0)
    if !out.failed { out.count &-= 1 }
    return out
  }

  func isEqual(to other: Text) -> Bool {
    length == other.length && isASCII == other.isASCII && treadle_cf_compare(memory, other.memory, length &* width) == 0
  }

  /// Whether another text stands at an index.
  func has(_ other: Text, at start: Int, folding: Bool = false) -> Bool {
    if start < 0 || other.length > length &- start { return false }
    var index = 0
    while index < other.length {
      if folded(self[start &+ index], folding) != folded(other[index], folding) { return false }
      index &+= 1
    }
    return true
  }

  func compare(_ other: Text, folding: Bool) -> Int {
    var index = 0
    while index < length, index < other.length {
      let one = folded(self[index], folding), two = folded(other[index], folding)
      if one != two { return one < two ? -1 : 1 }
      index &+= 1
    }
    return length < other.length ? -1 : length > other.length ? 1 : 0
  }

  /// FNV-1a of the units; ASCII text has the hash of its bytes.
  var hash: UInt {
    if isASCII { return TreadleCF.hash(ascii, length) }
    var value: UInt64 = 0xCBF2_9CE4_8422_2325
    var index = 0
    while index < length {
      value = (value ^ UInt64(self[index])) &* 0x100_0000_01B3
      index &+= 1
    }
    return UInt(value)
  }

  /// There was no memory for what was added last: what there is stays, and may be added to again.
  mutating func forgive() { failed = false }

  mutating func free() {
    treadle_cf_free(memory)
    self = Text()
  }
}

/// A letter of ASCII as a small one, if case does not matter.
@inline(__always)
private func folded(_ unit: UInt16, _ folding: Bool) -> UInt16 {
  folding && unit >= 0x41 && unit <= 0x5A ? unit | 0x20 : unit
}

/// Whether it is one of the two units of a pair, alone.
@inline(__always)
func isHalf(_ scalar: UInt32) -> Bool { scalar >> 11 == 0x1B }
