// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A set, or a dictionary: keys, and values beside them, found by hash. Open addressing; a removed place keeps
/// its mark until the table is built anew.
struct TableBody {
  enum Mark {
    static var empty: UInt8 { 0 }
    static var used: UInt8 { 1 }
    static var removed: UInt8 { 2 }
  }
  struct Place {
    var mark: UInt8
    var hash: UInt
    var key: UInt
    var value: UInt
  }

  var places: UnsafeMutablePointer<Place>?
  var mask = -1
  var count = 0
  var filled = 0  // used and removed places
  let isMutable: Bool
  let keys: ValueCallbacks
  let hash: treadle_cf_hash_fn?
  let values: ValueCallbacks

  static func make(
    _ kind: Kind, _ keys: ValueCallbacks, _ hash: treadle_cf_hash_fn?, _ values: ValueCallbacks, mutable: Bool
  ) -> UInt {
    Slot.make(kind, allocate(TableBody(places: nil, isMutable: mutable, keys: keys, hash: hash, values: values)))
  }

  func hash(of key: UInt) -> UInt { hash.map { spread(UInt64($0(key))) } ?? spread(UInt64(key)) }

  /// Where the search for a hash begins. It is another for each size: values that come in the order of a larger table,
  /// from which they are copied, would crowd at the beginning of a smaller one.
  @inline(__always)
  private static func start(_ hash: UInt, _ mask: Int) -> Int {
    Int(bitPattern: spread(UInt64(hash ^ UInt(bitPattern: mask))) & UInt(bitPattern: mask))
  }

  /// Where a key is.
  func find(_ key: UInt) -> Int? {
    guard let places else { return nil }
    let hash = hash(of: key)
    var index = TableBody.start(hash, mask)
    while places[index].mark != Mark.empty {
      if places[index].mark == Mark.used, places[index].hash == hash, keys.isEqual(places[index].key, key) {
        return index
      }
      index = (index &+ 1) & mask
    }
    return nil
  }

  /// Puts a pair that is not there yet.
  mutating func insert(_ key: UInt, _ value: UInt) -> Bool {
    if (filled &+ 1) &* 4 > (mask &+ 1) &* 3, !rebuild() { return false }
    let hash = hash(of: key)
    guard let places else { return false }
    var index = TableBody.start(hash, mask)
    while places[index].mark == Mark.used { index = (index &+ 1) & mask }
    if places[index].mark == Mark.empty { filled &+= 1 }
    places[index] = Place(mark: Mark.used, hash: hash, key: key, value: value)
    count &+= 1
    return true
  }

  /// Puts another pair in a place; the one that was there.
  mutating func replace(_ index: Int, _ key: UInt, _ value: UInt) -> Place? {
    guard index <= mask, let places else { return nil }
    let old = places[index]
    places[index].key = key
    places[index].value = value
    return old
  }

  mutating func remove(_ index: Int) {
    places?[index].mark = Mark.removed
    count &-= 1
  }

  private mutating func rebuild() -> Bool {
    var size = 8
    while size < (count &+ 1) &* 2 { size &*= 2 }
    guard let memory = treadle_cf_allocate(size &* MemoryLayout<Place>.stride) else { return false }
    let fresh = memory.bindMemory(to: Place.self, capacity: size)
    forEach { place in
      var index = TableBody.start(place.hash, size &- 1)
      while fresh[index].mark == Mark.used { index = (index &+ 1) & (size &- 1) }
      fresh[index] = place
    }
    treadle_cf_free(places)
    places = fresh
    mask = size &- 1
    filled = count
    return true
  }

  func forEach(_ work: (Place) -> Void) {
    guard let places else { return }
    var index = 0
    while index <= mask {
      if places[index].mark == Mark.used { work(places[index]) }
      index &+= 1
    }
  }

  static func isEqual(_ one: Pointer<TableBody>, _ other: Pointer<TableBody>) -> Bool {
    if one.pointee.count != other.pointee.count { return false }
    var same = true
    one.pointee.forEach { place in
      guard same, let index = other.pointee.find(place.key), let found = other.pointee.places?[index] else {
        same = false
        return
      }
      same = one.pointee.values.isEqual(place.value, found.value)
    }
    return same
  }

  func free() {
    forEach { place in
      values.release(place.value)
      keys.release(place.key)
    }
    treadle_cf_free(places)
  }
}

/// As `access`, for the two kinds that share a body.
func tables<Result>(
  _ table: UInt, _ kind: Kind, _ function: StaticString, _ fallback: Result, _ work: (Pointer<TableBody>) -> Result
) -> Result {
  guard let slot = Slot.hold(table, kind), let body = slot.pointer.pointee.body else {
    complain(function)
    return fallback
  }
  let result = work(body.assumingMemoryBound(to: TableBody.self))
  slot.drop()
  return result
}

func pairOfTables<Result>(
  _ one: UInt, _ other: UInt, _ kind: Kind, _ function: StaticString, _ fallback: Result,
  _ work: (Pointer<TableBody>, Pointer<TableBody>) -> Result
) -> Result {
  tables(one, kind, function, fallback) { a in tables(other, kind, function, fallback) { b in work(a, b) } }
}
