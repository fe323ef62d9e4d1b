// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Finds numbers by a hash, in constant time however many there are: an open-addressed table that is half full at most.
/// Several numbers may have one hash, and its owner says which of them is meant; 0 is no number. It tells when memory
/// is out. All-zero bytes are an empty one. Not thread-safe: its owner says what guards it.
package struct HashIndex {
  private struct Entry: BitwiseCopyable {
    var hash: UInt64
    /// 0 in an empty place.
    var number: UInt
  }

  private var base: UnsafeMutablePointer<Entry>?
  /// 0, or a power of two.
  private var capacity: UInt32
  private var count: UInt32

  private static let leastCapacity: UInt32 = 4

  package init() {
    base = nil
    capacity = 0
    count = 0
  }

  package mutating func free() {
    let memory = base
    self = HashIndex()
    treadle_system_free(memory)
  }

  /// The first number with this hash of which `isMeant` is true.
  package func find(_ hash: UInt64, where isMeant: (UInt) -> Bool) -> UInt? {
    guard let base else { return nil }
    var place = home(hash)
    while base[place].number != 0 {
      if base[place].hash == hash && isMeant(base[place].number) { return base[place].number }
      place = following(place)
    }
    return nil
  }

  package var isEmpty: Bool { count == 0 }

  /// Room for one more, so that its insertion cannot fail.
  package mutating func reserve() -> Bool {
    if count < capacity / 2 { return true }
    return capacity <= UInt32.max / 4 && resize(max(capacity &* 2, HashIndex.leastCapacity))
  }

  /// False when there is no memory: nothing changed then.
  package mutating func insert(_ hash: UInt64, _ number: UInt) -> Bool {
    if number == 0 || !reserve() { return false }
    put(Entry(hash: hash, number: number))
    count &+= 1
    return true
  }

  /// Puts a number in the place of another one that has the same hash.
  package func replace(_ hash: UInt64, _ number: UInt, by other: UInt) {
    if let place = place(of: hash, number), let base { base[place].number = other }
  }

  package mutating func remove(_ hash: UInt64, _ number: UInt) {
    guard let found = place(of: hash, number), let base else { return }
    // Whatever would not be found across the gap moves into it.
    var gap = found
    var next = following(gap)
    while base[next].number != 0 {
      if distance(home(base[next].hash), next) >= distance(gap, next) {
        base[gap] = base[next]
        gap = next
      }
      next = following(next)
    }
    base[gap].number = 0
    count &-= 1
    // Without memory it stays as large as it is.
    if count < capacity / 8 && capacity > HashIndex.leastCapacity { _ = resize(capacity / 2) }
  }

  // MARK: Places

  private func home(_ hash: UInt64) -> Int {
    // The high bits of the product depend on all of the hash.
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 32) & (Int(capacity) &- 1)
  }
  private func following(_ place: Int) -> Int { (place &+ 1) & (Int(capacity) &- 1) }
  private func distance(_ from: Int, _ to: Int) -> Int { (to &- from) & (Int(capacity) &- 1) }

  private func place(of hash: UInt64, _ number: UInt) -> Int? {
    guard let base else { return nil }
    var place = home(hash)
    while base[place].number != 0 {
      if base[place].number == number && base[place].hash == hash { return place }
      place = following(place)
    }
    return nil
  }

  /// Into the first empty place: there is one.
  private func put(_ entry: Entry) {
    guard let base else { return }
    var place = home(entry.hash)
    while base[place].number != 0 { place = following(place) }
    base[place] = entry
  }

  private mutating func resize(_ wanted: UInt32) -> Bool {
    let size = Int(wanted) &* MemoryLayout<Entry>.stride
    guard let memory = treadle_system_allocate(size) else { return false }
    memset(memory, 0, size)
    let (old, oldCapacity) = (base, Int(capacity))
    base = memory.bindMemory(to: Entry.self, capacity: Int(wanted))
    capacity = wanted
    var place = 0
    while let old, place < oldCapacity {
      if old[place].number != 0 { put(old[place]) }
      place &+= 1
    }
    treadle_system_free(old)
    return true
  }
}
