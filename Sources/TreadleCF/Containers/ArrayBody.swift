// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A list of values.
struct ArrayBody: Body {
  static var kind: Kind { .array }

  var values: UnsafeMutablePointer<UInt>?
  var count = 0
  var capacity = 0
  let isMutable: Bool
  let callbacks: ValueCallbacks

  static func make(_ callbacks: ValueCallbacks, mutable: Bool) -> UInt {
    Slot.make(.array, allocate(ArrayBody(values: nil, isMutable: mutable, callbacks: callbacks)))
  }

  subscript(index: Int) -> UInt {
    guard index >= 0, index < count, let values else { return 0 }
    return values[index]
  }

  func contains(_ range: treadle_cf_range) -> Bool {
    range.location >= 0 && range.length >= 0 && range.location <= count && range.length <= count &- range.location
  }

  mutating func insert(_ value: UInt, at index: Int) -> Bool {
    guard index >= 0, index <= count else { return false }
    if count == capacity {
      let room = max(8, capacity &* 2)
      guard let memory = treadle_cf_reallocate(values, room &* 8) else { return false }
      values = memory.assumingMemoryBound(to: UInt.self)
      capacity = room
    }
    guard let values else { return false }
    treadle_cf_copy(values + (index &+ 1), values + index, (count &- index) &* 8)
    values[index] = value
    count &+= 1
    return true
  }

  mutating func remove(at index: Int) -> UInt? {
    guard index >= 0, index < count, let values else { return nil }
    let value = values[index]
    treadle_cf_copy(values + index, values + (index &+ 1), (count &- index &- 1) &* 8)
    count &-= 1
    return value
  }

  func find(_ value: UInt, _ range: treadle_cf_range) -> Int? {
    guard contains(range) else { return nil }
    var index = range.location
    while index < range.location &+ range.length {
      if callbacks.isEqual(self[index], value) { return index }
      index &+= 1
    }
    return nil
  }

  static func isEqual(_ one: Pointer<ArrayBody>, _ other: Pointer<ArrayBody>) -> Bool {
    if one.pointee.count != other.pointee.count { return false }
    var index = 0
    while index < one.pointee.count && index < other.pointee.count {
      if !one.pointee.callbacks.isEqual(one.pointee[index], other.pointee[index]) { return false }
      index &+= 1
    }
    return true
  }

  func free() {
    var index = 0
    while index < count {
      callbacks.release(self[index])
      index &+= 1
    }
    treadle_cf_free(values)
  }
}
