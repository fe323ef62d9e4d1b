// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A thread's stack of releases that are put off, with the bottoms of open pools among them. On the heap, made
/// when the thread first needs it. Touched by its own thread alone.
package struct PoolStack {
  /// Where the latest is the last one. First, so that a look at its count costs one load.
  package var entries: Buffer<PoolEntry>
  /// The places of the bottoms in `entries`, outermost pool first.
  private var bottoms: Buffer<Int>
  /// What makes the tokens of this stack: a number that no other stack has, and a count.
  private var number: UInt32
  private var serial: UInt32

  package init() {
    entries = Buffer()
    bottoms = Buffer()
    number = 0
    serial = 0
  }

  /// Entries beyond which the memory of an emptied stack is given back.
  private static let usualCount = 4096

  /// Opens a pool; its token, never given before and never negative as a signed number; nil without memory.
  package mutating func open() -> UInt64? {
    if serial == UInt32.max || number == 0 {
      number = treadle_system_next_pool_number()
      serial = 0
    }
    serial &+= 1
    let token = UInt64(number & 0x7FFF_FFFF) << 32 | UInt64(serial)
    let place = entries.count
    guard entries.append(PoolEntry(bottom: token)) else { return nil }
    if bottoms.append(place) { return token }
    entries.truncate(place)
    return nil
  }

  package var hasOpenPools: Bool { !bottoms.isEmpty }

  /// The place of an open pool's bottom. Later pools have greater tokens.
  package func find(_ token: UInt64) -> Int? {
    var (low, high) = (0, bottoms.count)
    while low < high {
      let middle = (low &+ high) / 2
      guard let place = bottoms[middle], let entry = entries[place] else { return nil }
      if entry.token == token { return place }
      if entry.token < token { low = middle &+ 1 } else { high = middle }
    }
    return nil
  }

  /// Whether the bottom of this pool is at this place still.
  package func isBottom(_ place: Int, _ token: UInt64) -> Bool {
    guard let entry = entries[place] else { return false }
    return entry.isBottom && entry.token == token
  }

  /// Takes the latest entry off, unless there are no more than `count`.
  package mutating func takeLatest(above count: Int) -> PoolEntry? {
    guard entries.count > count, let entry = entries[entries.count &- 1] else { return nil }
    entries.truncate(entries.count &- 1)
    if entry.isBottom { bottoms.truncate(bottoms.count &- 1) }
    return entry
  }

  /// After a drain that began with so many entries: much memory is not kept for ever.
  package mutating func shrink(after count: Int) {
    if count > PoolStack.usualCount && entries.isEmpty { entries.free() }
  }

  package mutating func free() {
    entries.free()
    bottoms.free()
  }
}
