// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A list of values, with room at both ends, so that adding and removing there costs the same whatever is in between.
struct ArrayBody: Body {
  static var kind: Kind { .array }

  private var memory: UnsafeMutablePointer<UInt>?
  private var start = 0
  private(set) var count = 0
  private var capacity = 0
  let isMutable: Bool
  let callbacks: ValueCallbacks

  private init(_ callbacks: ValueCallbacks, isMutable: Bool) {
    self.callbacks = callbacks
    self.isMutable = isMutable
  }

  /// The values, one beside the other.
  var values: UnsafeMutablePointer<UInt>? { memory.map { $0 + start } }

  static func make(_ callbacks: ValueCallbacks, mutable: Bool) -> UInt {
    Slot.make(.array, allocate(ArrayBody(callbacks, isMutable: mutable)))
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
    let isFront = index < count &- index
    guard makeRoom(isFront: isFront), let memory else { return false }
    if isFront {
      treadle_cf_copy(memory + (start &- 1), memory + start, index &* 8)
      start &-= 1
    } else {
      let place = memory + (start &+ index)
      treadle_cf_copy(place + 1, place, (count &- index) &* 8)
    }
    memory[start &+ index] = value
    count &+= 1
    return true
  }

  mutating func remove(at index: Int) -> UInt? {
    guard index >= 0, index < count, let values else { return nil }
    let value = values[index]
    if index < count &- 1 &- index {
      treadle_cf_copy(values + 1, values, index &* 8)
      start &+= 1
    } else {
      treadle_cf_copy(values + index, values + (index &+ 1), (count &- index &- 1) &* 8)
    }
    count &-= 1
    return value
  }

  /// Takes all values out; they are released one after the other, while a callback may already add others.
  mutating func removeAll() {
    let old = self
    memory = nil
    start = 0
    count = 0
    capacity = 0
    old.free()
  }

  /// Room for one more value at one end. The values are moved to the middle, or to larger memory, once there is none;
  /// so as many are added as are moved, whichever ends are used in turn. Those of a list that grows at its end alone
  /// begin at 0.
  private mutating func makeRoom(isFront: Bool) -> Bool {
    if isFront ? start > 0 : start &+ count < capacity { return true }
    let isShared = isFront || start > 0
    var room = capacity
    var target = memory
    if !isShared || capacity &- count <= count / 2 {
      room = max(8, capacity &* 2)
      let fresh = isShared ? treadle_cf_allocate(room &* 8) : treadle_cf_reallocate(memory, room &* 8)
      guard let fresh else { return false }
      target = fresh.assumingMemoryBound(to: UInt.self)
    }
    guard let target else { return false }
    if isShared {
      let middle = (room &- count &+ (isFront ? 1 : 0)) / 2
      treadle_cf_copy(target + middle, values, count &* 8)
      if target != memory { treadle_cf_free(memory) }
      start = middle
    }
    memory = target
    capacity = room
    return true
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

  /// Lists that compare their values otherwise are not equal, even without any.
  static func isEqual(_ one: Pointer<ArrayBody>, _ other: Pointer<ArrayBody>) -> Bool {
    let equal = address(one.pointee.callbacks.callbacks.equal)
    if one.pointee.count != other.pointee.count || equal != address(other.pointee.callbacks.callbacks.equal) {
      return false
    }
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
    treadle_cf_free(memory)
  }
}
