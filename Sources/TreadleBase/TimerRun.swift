// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Timer memberships in the order of their turns: those of the wheel's slot that is being served. It is filled while
/// it is empty, put in order once, and then taken from at its front, which moves nothing; what comes later to the same
/// slot goes to a heap instead.
package struct TimerRun {
  private var entries = Buffer<TimerHeap.Entry>()
  private var next = 0

  package init() {}

  /// Room for a few, so that filling it gets on, also without more memory.
  @inline(__always)
  package mutating func reserve() -> Bool { entries.hasRoom(16 &- entries.count) || entries.reserve(16) }

  package mutating func free() { entries.free() }

  /// The entry whose turn is next.
  @inline(__always)
  package var first: TimerHeap.Entry? { entries[next] }

  /// Whether those whose turn is to come are in its order, and `holds` answers true for each that was not removed.
  package func isInOrder(_ holds: (TimerHeap.Entry) -> Bool) -> Bool {
    let all = entries.elements
    for index in next..<max(next, all.count) {
      if index > next && all[index].precedes(all[index &- 1]) { return false }
      if all[index].slot != 0 && !holds(all[index]) { return false }
    }
    return true
  }

  /// All have had their turn.
  package mutating func clear() {
    entries.removeAll()
    next = 0
  }

  /// Behind the others, whatever its turn is: `sort` is to follow.
  @inline(__always)
  package mutating func append(_ entry: TimerHeap.Entry) -> Bool { entries.append(entry) }

  /// Takes the first one out, and those behind it that were removed.
  @inline(__always)
  package mutating func takeFirst() {
    next &+= 1
    while let entry = entries[next], entry.slot == 0 { next &+= 1 }
  }

  /// An entry gives up its turn. It is found by its place in the order.
  package mutating func remove(_ wanted: TimerHeap.Entry) {
    let all = entries.elements
    var low = next
    var high = all.count
    while low < high {
      let middle = low &+ (high &- low) / 2
      if all[middle].precedes(wanted) { low = middle &+ 1 } else { high = middle }
    }
    guard low < all.count, all[low].slot == wanted.slot else { return }
    if low == next {
      takeFirst()
    } else {
      all[low].slot = 0
    }
  }

  // MARK: Putting in order

  private typealias Entries = UnsafeMutableBufferPointer<TimerHeap.Entry>

  /// Puts all in the order of their turns: by quicksort down to a few, which are inserted one by one. Where the
  /// pivots are bad luck again and again Shell's sort takes over, so that it never takes long.
  package mutating func sort() {
    let all = entries.elements
    let count = all.count
    if count > 1 { TimerRun.sort(all, 0, count, badLuck: 2 &* (64 &- count.leadingZeroBitCount)) }
  }

  private static func sort(_ all: Entries, _ start: Int, _ stop: Int, badLuck: Int) {
    var low = start
    var high = stop
    var left = badLuck
    while high &- low > 16 && left > 0 {
      left &-= 1
      let middle = divide(all, low, high)
      // The smaller part at once, so that the calls do not go deep.
      if middle &- low < high &- middle {
        sort(all, low, middle, badLuck: left)
        low = middle &+ 1
      } else {
        sort(all, middle &+ 1, high, badLuck: left)
        high = middle
      }
    }
    var gap = 1
    while high &- low > 16 &* gap { gap = 3 &* gap &+ 1 }
    while gap > 0 {
      insertEach(all, low, high, gap)
      gap /= 3
    }
  }

  /// Moves each one ahead of those that it precedes, by steps of `gap`.
  private static func insertEach(_ all: Entries, _ low: Int, _ high: Int, _ gap: Int) {
    var index = low &+ gap
    while index < high {
      let entry = all[index]
      var place = index
      while place >= low &+ gap, entry.precedes(all[place &- gap]) {
        all[place] = all[place &- gap]
        place &-= gap
      }
      all[place] = entry
      index &+= 1
    }
  }

  /// Divides by the median of three; answers where it stands then. Without a jump that depends on the entries.
  private static func divide(_ all: Entries, _ low: Int, _ high: Int) -> Int {
    let middle = low &+ (high &- low) / 2
    let last = high &- 1
    order(all, low, middle)
    order(all, low, last)
    order(all, last, middle)
    let pivot = all[last]
    var end = low
    var index = low
    while index < last {
      let entry = all[index]
      all[index] = all[end]
      all[end] = entry
      end &+= entry.precedes(pivot) ? 1 : 0
      index &+= 1
    }
    all[last] = all[end]
    all[end] = pivot
    return end
  }

  @inline(__always)
  private static func order(_ all: Entries, _ first: Int, _ second: Int) {
    let one = all[first]
    let other = all[second]
    if other.precedes(one) {
      all[first] = other
      all[second] = one
    }
  }
}
