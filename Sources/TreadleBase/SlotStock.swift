// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Free slots of one slab that a loop has for itself, so that to take one or to give one back needs no lock but the
/// loop's, which is held anyway. They come and go by groups: one that is full goes to the slab when the next one is full.
///
/// Guarded by its owner's lock. All-zero bytes are an empty stock.
package struct SlotStock {
  /// The first of a chain of free slots, and how many they are; another chain, of `Slab.slotsOfGroup` or none.
  private var first: UInt32
  private var count: UInt32
  private var full: UInt32
  /// Slots that nobody has had yet: from here, up to but not including there.
  private var unused: UInt32
  private var unusedEnd: UInt32
  /// How many of those were last taken at once: twice as many as the time before, so that a loop with few
  /// timers keeps few for itself.
  private var portion: UInt32

  package init() {
    first = 0
    count = 0
    full = 0
    unused = 0
    unusedEnd = 0
    portion = 0
  }

  /// A slot, with so many references, and its memory; nil when there is none.
  @inline(__always)
  package mutating func take(
    _ slab: Slab, own: UInt64, clients: UInt64
  ) -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    if first == 0 && unused == unusedEnd && !refill(slab) { return nil }
    return takeAtHand(slab, own: own, clients: clients)
  }

  /// The same, if the owner has one.
  @inline(__always)
  package mutating func takeAtHand(
    _ slab: Slab, own: UInt64, clients: UInt64
  ) -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    let isUnused = first == 0
    if isUnused && unused == unusedEnd { return nil }
    let slot = isUnused ? unused : first
    guard let memory = slab.memory(slot) else { return nil }
    if isUnused {
      unused = slot &+ 1
    } else {
      first = slab.next(memory)
      count = count &- 1
    }
    memory.assumingMemoryBound(to: Reference.self).pointee.begin(own: own, clients: clients)
    return (slot, memory)
  }

  /// The owner's has run out.
  @inline(never)
  private mutating func refill(_ slab: Slab) -> Bool {
    if full != 0 {
      first = full
      count = Slab.slotsOfGroup
      full = 0
      return true
    }
    portion = min(max(portion &* 2, 1), Slab.slotsOfGroup)
    slab.state.pointee.gate.lock()
    defer { slab.state.pointee.gate.unlock() }
    (first, count) = slab.takeGroup()
    if first == 0 { (unused, unusedEnd) = slab.takeUnused(portion) }
    return first != 0 || unused != unusedEnd
  }

  /// Gives a slot back, whose life has ended.
  @inline(__always)
  package mutating func put(_ slab: Slab, _ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    if !hasRoom { setFullAside(slab) }
    putAtHand(slab, slot, memory)
  }

  @inline(__always)
  package var hasRoom: Bool { count != Slab.slotsOfGroup }

  /// The same where there is room.
  @inline(__always)
  package mutating func putAtHand(_ slab: Slab, _ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    slab.setNext(memory, first)
    first = slot
    count = count &+ 1
  }

  @inline(never)
  private mutating func setFullAside(_ slab: Slab) {
    if full != 0 { slab.giveGroup(full) }
    full = first
    first = 0
    count = 0
  }

  /// The owner ends: all goes back.
  @_optimize(size)
  package mutating func empty(into slab: Slab) {
    if full != 0 { slab.giveGroup(full) }
    while first != 0, let memory = slab.memory(first) {
      let next = slab.next(memory)
      slab.giveBack(first, memory)
      first = next
    }
    while unused < unusedEnd, let memory = slab.memory(unused) {
      slab.giveBack(unused, memory)
      unused = unused &+ 1
    }
    self = SlotStock()
  }
}
