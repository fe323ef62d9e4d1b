// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A hierarchical wheel of exact timers: constant time to insert and to remove. The nearest slot is a
/// small heap, so the order is exact to the nanosecond.
///
/// Time is cut into slots of 2^16 ns. A membership whose slot is the current one, or past, is in the
/// heap; any other lies in the wheel at the level of the highest six-bit digit in which its slot differs
/// from the current one. When the heap is empty the next used slot becomes it, or spreads over the levels
/// below.
struct TimerWheel {
  private static let levels = 8
  private static let slotBits: Int64 = 16

  /// The timers up to the end of the current slot.
  private var near = TimerHeap()
  private var slot: Int64
  /// How many memberships lie in the wheel.
  private var far = 0
  /// For each level, then for each level and index: which slots are used, and the first membership there.
  private var used: UnsafeMutablePointer<UInt64>
  private var heads: UnsafeMutablePointer<UInt32>

  static func make() -> TimerWheel? {
    let size = levels &* MemoryLayout<UInt64>.stride &+ levels &* 64 &* MemoryLayout<UInt32>.stride
    guard let memory = treadle_system_allocate(size) else { return nil }
    memset(memory, 0, size)
    return TimerWheel(memory)
  }

  private init(_ memory: UnsafeMutableRawPointer) {
    used = memory.bindMemory(to: UInt64.self, capacity: TimerWheel.levels)
    heads = (memory + TimerWheel.levels &* 8).bindMemory(to: UInt32.self, capacity: TimerWheel.levels &* 64)
    slot = max(Clock.now(), 0) >> TimerWheel.slotBits
  }

  mutating func free() {
    near.free()
    treadle_system_free(used)
  }

  @inline(__always)
  mutating func reserve() -> Bool { near.reserve() }

  private static func noteNear(_ entry: TimerHeap.Entry, _ index: Int) {
    Item(.timer, slot: entry.slot)?.timer.pointee.place = TimerQueue.Place.near &+ UInt32(truncatingIfNeeded: index)
  }

  /// False when there is no memory: the membership lies nowhere then.
  mutating func insert(_ member: Item) -> Bool {
    let timer = member.timer
    let target = max(timer.pointee.date, 0) >> TimerWheel.slotBits
    if target <= slot {
      let entry = TimerHeap.Entry(key: timer.pointee.date, sequence: timer.pointee.sequence, slot: member.slot)
      return near.insert(entry, moved: TimerWheel.noteNear)
    }
    let level = (63 &- (target ^ slot).leadingZeroBitCount) / 6
    let index = Int(target >> Int64(6 &* level)) & 63
    let place = 64 &* level &+ index
    let head = heads[place]
    member.cell.pointee.previous = 0
    member.cell.pointee.next = head
    Item(.timer, slot: head)?.cell.pointee.previous = member.slot
    heads[place] = member.slot
    used[level] |= 1 << UInt64(index)
    timer.pointee.place = TimerQueue.Place.wheel &+ UInt32(place)
    far &+= 1
    return true
  }

  mutating func remove(_ member: Item) {
    let place = member.timer.pointee.place
    if place >= TimerQueue.Place.near {
      near.remove(at: Int(place &- TimerQueue.Place.near), moved: TimerWheel.noteNear)
      return
    }
    let at = Int(place &- TimerQueue.Place.wheel)
    let next = member.cell.pointee.next
    let previous = member.cell.pointee.previous
    Item(.timer, slot: next)?.cell.pointee.previous = previous
    if let before = Item(.timer, slot: previous) {
      before.cell.pointee.next = next
    } else {
      heads[at] = next
      if next == 0 { used[at / 64] &= ~(1 << UInt64(at & 63)) }
    }
    far &-= 1
  }

  /// The membership that fires first.
  @inline(__always)
  mutating func first() -> TimerHeap.Entry? {
    while near.count == 0 && far != 0 {
      if !advance() { break }
    }
    return near.first
  }

  /// With an empty heap: goes on to the next used slot. False when there is no memory for it.
  private mutating func advance() -> Bool {
    for level in 0..<TimerWheel.levels {
      let digit = (slot >> Int64(6 &* level)) & 63
      let later = digit == 63 ? 0 : used[level] & (~0 << UInt64(digit &+ 1))
      if later == 0 { continue }
      let index = later.trailingZeroBitCount
      let above = (slot >> Int64(6 &* level &+ 6)) << 6
      slot = (above | Int64(index)) << Int64(6 &* level)
      used[level] &= ~(1 << UInt64(index))
      return spread(64 &* level &+ index)
    }
    return false
  }

  private mutating func spread(_ place: Int) -> Bool {
    var next = heads[place]
    heads[place] = 0
    while let member = Item(.timer, slot: next) {
      next = member.cell.pointee.next
      far &-= 1
      if !insert(member) {
        // Put back what is left; it is found again on the next call.
        member.cell.pointee.next = heads[place]
        heads[place] = member.slot
        used[place / 64] |= 1 << UInt64(place & 63)
        far &+= 1
        return false
      }
    }
    return true
  }
}
