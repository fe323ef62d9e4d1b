// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A 4-ary heap of timer memberships with the key beside the slot, so that a comparison touches no
/// timer. Equal keys come out in the order of their sequence numbers.
package struct TimerHeap {
  package struct Entry: BitwiseCopyable {
    package let key: Int64
    package let sequence: UInt32
    /// 0 in the place of one that was removed.
    package var slot: UInt32

    @inline(__always)
    package init(key: Int64, sequence: UInt32, slot: UInt32) {
      self.key = key
      self.sequence = sequence
      self.slot = slot
    }

    @inline(__always)
    package func precedes(_ other: Entry) -> Bool {
      key != other.key ? key < other.key : Int32(bitPattern: sequence &- other.sequence) < 0
    }
  }

  private var entries = Buffer<Entry>()

  package init() {}

  @inline(__always)
  package var first: Entry? { entries[0] }

  package mutating func free() { entries.free() }

  /// Room for more, so that an insertion cannot fail half way.
  @inline(__always)
  package mutating func reserve(_ more: Int = 1) -> Bool {
    entries.hasRoom(more) || entries.reserve(entries.count &+ more)
  }

  /// `moved` is told where each entry that changes its place lies now.
  @inline(__always)
  package mutating func insert(_ entry: Entry, moved: (Entry, Int) -> Void) -> Bool {
    guard entries.append(entry) else { return false }
    siftUp(entries.count &- 1, entry, moved)
    return true
  }

  @inline(__always)
  package mutating func remove(at index: Int, moved: (Entry, Int) -> Void) {
    let last = entries.count &- 1
    guard index >= 0, index <= last, let entry = entries[last] else { return }
    entries.truncate(last)
    if index == last { return }
    if index > 0, let parent = entries[(index &- 1) / 4], entry.precedes(parent) {
      siftUp(index, entry, moved)
    } else {
      siftDown(index, entry, moved)
    }
  }

  /// Whether no entry precedes its parent, and `holds` answers true for each entry and its index.
  package func isInOrder(_ holds: (Entry, Int) -> Bool) -> Bool {
    let heap = entries.elements
    for index in 0..<heap.count {
      if index > 0 && heap[index].precedes(heap[(index &- 1) / 4]) || !holds(heap[index], index) { return false }
    }
    return true
  }

  /// Gives every entry a new key.
  package mutating func rekey(_ key: (Entry) -> Int64, moved: (Entry, Int) -> Void) {
    let heap = entries.elements
    for index in 0..<heap.count {
      heap[index] = Entry(key: key(heap[index]), sequence: heap[index].sequence, slot: heap[index].slot)
    }
    var index = heap.count
    while index > 0 {
      index &-= 1
      siftDown(index, heap[index], moved)
    }
  }

  @inline(__always)
  private mutating func siftUp(_ start: Int, _ entry: Entry, _ moved: (Entry, Int) -> Void) {
    let heap = entries.elements
    var index = start
    while index > 0 {
      let parent = (index &- 1) / 4
      if !entry.precedes(heap[parent]) { break }
      heap[index] = heap[parent]
      moved(heap[index], index)
      index = parent
    }
    heap[index] = entry
    moved(entry, index)
  }

  @inline(__always)
  private mutating func siftDown(_ start: Int, _ entry: Entry, _ moved: (Entry, Int) -> Void) {
    let heap = entries.elements
    let count = heap.count
    var index = start
    while true {
      let firstChild = 4 &* index &+ 1
      if firstChild >= count { break }
      var best = firstChild
      var child = firstChild &+ 1
      while child < min(firstChild &+ 4, count) {
        if heap[child].precedes(heap[best]) { best = child }
        child &+= 1
      }
      if !heap[best].precedes(entry) { break }
      heap[index] = heap[best]
      moved(heap[index], index)
      index = best
    }
    heap[index] = entry
    moved(entry, index)
  }
}
