// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// What one step of a pass hands to the client: the step fills it, `Loop.next` takes one callout after the other, and
/// whether that is called or returned to a host is nobody's business here.
struct Batch {
  enum Kind: UInt8 {
    case none
    case observers
    case blocks
    case sources
    case timers
    case descriptor
    case port
  }

  private(set) var kind = Kind.none
  /// What the kind's entries are, is said at `Entry`.
  var entries = Buffer<Entry>()
  private(set) var index = 0
  /// How many of those passed were not called. Blocks: since the mode does not admit them, and they are kept.
  var keptCount = 0
  /// Observers: what they are told. Timers: what "due" means.
  var activity: UInt32 = 0
  var now: Int64 = 0
  /// Blocks, for traces: the place of the first entry among all that were ever taken out of the loop's queue, as the
  /// first of those that no earlier drain had taken has it, and which that is.
  var firstPlace: UInt64 = 0
  var firstNew = Int.max
  /// The jobs that this pass performs, while there may be one left.
  var jobs = JobCursor()
  /// What sorting takes.
  var sorted = Buffer<StableSort.Keyed>()
  var sortingRoom = Buffer<StableSort.Keyed>()

  @inline(__always)
  mutating func open(_ kind: Kind) {
    self.kind = kind
    index = 0
    keptCount = 0
  }
  @inline(__always)
  mutating func close() {
    kind = .none
    entries.removeAll()
    index = 0
  }

  @inline(__always)
  var isEmpty: Bool { index >= entries.count }
  /// The next entry, without taking it.
  @inline(__always)
  var first: Entry? { entries[index] }
  @inline(__always)
  mutating func skip() { index &+= 1 }
  @inline(__always)
  mutating func takeFirst() -> Entry? {
    guard let entry = entries[index] else { return nil }
    index &+= 1
    return entry
  }

  /// Blocks: the place of the one that was taken last, or of the next one; nil where an earlier drain had taken it, or
  /// put it back.
  @inline(__always)
  var placeOfTaken: UInt64? { index > firstNew ? firstPlace &+ UInt64(truncatingIfNeeded: index &- 1) : nil }
  @inline(__always)
  var placeOfFirst: UInt64? { index >= firstNew ? firstPlace &+ UInt64(truncatingIfNeeded: index) : nil }

  /// The last so many that were taken are the next ones again.
  mutating func putBack(_ count: Int) { index = max(index &- count, 0) }

  /// The next entry is this one, in the place of one that was taken.
  mutating func putBack(_ entry: Entry) {
    putBack(1)
    entries.set(index, entry)
  }

  mutating func replaceFirst(_ entry: Entry) { entries.set(index, entry) }

  /// Leaves the next block to later drains, or all posts of a group, in the part of the batch that has been passed,
  /// which is always long enough.
  mutating func keepFirst() {
    var left = first.flatMap { PostGroup($0) }?.count ?? 0
    while let entry = takeFirst() {
      entries.set(keptCount, entry)
      keptCount &+= 1
      if left == 0 { return }
      left &-= 1
    }
  }

  /// Shortens the entries to those that have not been taken.
  mutating func dropTaken() {
    var kept = 0
    while let entry = takeFirst() {
      entries.set(kept, entry)
      kept &+= 1
    }
    entries.truncate(kept)
    index = 0
    keptCount = 0
  }

  /// How many were called.
  @inline(__always)
  var calledCount: Int { index &- keptCount }

  /// Many timers that fire one after the other lie where the processor has not been for long: it is told in good time.
  @inline(__always)
  func fetchTimersAhead() {
    if let entry = entries[index &+ 8] { Item(.timer, slot: entry.mention.slot)?.prefetchForWriting() }
  }

  mutating func free() {
    entries.free()
    sorted.free()
    sortingRoom.free()
  }
}
