// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The timers of one mode. Exact ones lie in a wheel; those with a tolerance in two heaps, by their date
/// and by their latest date, so that a sleep can last until the latest while nothing fires early.
///
/// Guarded by the loop's lock.
struct TimerQueue {
  /// `TimerCell.Due.place`: where a membership lies.
  enum Place {
    /// Nowhere: collected to be fired, being fired by its loop, or in no mode.
    static let none: UInt32 = 0
    /// Nowhere, for want of memory; tried again later.
    static let aside: UInt32 = 1
    /// In the mode's list of timers instead: its callback runs, not for this membership.
    static let resting: UInt32 = 2
    /// + 64 * level + index: in a slot of the wheel.
    static let wheel: UInt32 = 0x1000_0000
    /// + its index: in the heap of those that came to the wheel's current slot.
    static let near: UInt32 = 0x4000_0000
    /// In the run of the wheel's current slot.
    static let run: UInt32 = 0x7FFF_FFFF
    /// + its index: in the heap of dates of the timers with a tolerance.
    static let tolerant: UInt32 = 0x8000_0000
  }

  private var wheel: TimerWheel
  private var tolerant = TimerHeap()
  /// The memberships of `tolerant` by their latest dates.
  private var latest = TimerHeap()
  private var lastSequence: UInt32 = 0
  private var asideFirst: UInt32 = 0
  /// The date of the next timer that a run has collected but not fired; it lies in no heap meanwhile.
  var collectedDate = Clock.forever

  static func make() -> UnsafeMutablePointer<TimerQueue>? {
    guard let wheel = TimerWheel.make(), let memory = treadle_system_allocate(MemoryLayout<TimerQueue>.size) else {
      return nil
    }
    let queue = memory.bindMemory(to: TimerQueue.self, capacity: 1)
    queue.initialize(to: TimerQueue(wheel: wheel))
    return queue
  }

  private init(wheel: TimerWheel) { self.wheel = wheel }

  static func free(_ queue: UnsafeMutablePointer<TimerQueue>) {
    queue.pointee.wheel.free()
    queue.pointee.tolerant.free()
    queue.pointee.latest.free()
    treadle_system_free(queue)
  }

  /// Room for one more timer, so that its insertion cannot fail.
  @inline(__always)
  mutating func reserve(tolerant isTolerant: Bool) -> Bool {
    wheel.reserve() && (!isTolerant || tolerant.reserve() && latest.reserve())
  }

  /// Queues a membership without a tolerance at its date, behind all others of that date.
  @inline(__always)
  mutating func insertExact(_ member: Item) {
    lastSequence &+= 1
    member.due.pointee.sequence = lastSequence
    if !wheel.insert(member) { setAside(member) }
  }

  /// Queues a membership at its date, behind all others of that date.
  @inline(never)
  mutating func insert(_ member: Item, tolerance: Int64) {
    if tolerance <= 0 {
      insertExact(member)
      return
    }
    lastSequence &+= 1
    member.due.pointee.sequence = lastSequence
    if !insertTolerant(member, tolerance) { setAside(member) }
  }

  private mutating func insertTolerant(_ member: Item, _ tolerance: Int64) -> Bool {
    let due = member.due
    let entry = TimerHeap.Entry(key: due.pointee.date, sequence: due.pointee.sequence, slot: member.slot)
    let last = TimerHeap.Entry(
      key: Clock.after(tolerance, from: entry.key), sequence: entry.sequence, slot: entry.slot)
    // Room in both before it is in one of them.
    guard tolerant.reserve(), latest.reserve() else { return false }
    return latest.insert(last, moved: TimerQueue.noteLatest) && tolerant.insert(entry, moved: TimerQueue.noteTolerant)
  }

  private static func noteLatest(_ entry: TimerHeap.Entry, _ index: Int) {
    Item(.timer, slot: entry.slot)?.due.pointee.latest = UInt32(truncatingIfNeeded: index)
  }
  private static func noteTolerant(_ entry: TimerHeap.Entry, _ index: Int) {
    Item(.timer, slot: entry.slot)?.due.pointee.place = Place.tolerant &+ UInt32(truncatingIfNeeded: index)
  }

  mutating func remove(_ member: Item) {
    let due = member.due
    let place = due.pointee.place
    if place >= Place.tolerant {
      tolerant.remove(at: Int(place &- Place.tolerant), moved: TimerQueue.noteTolerant)
      latest.remove(at: Int(due.pointee.latest), moved: TimerQueue.noteLatest)
    } else if place == Place.aside {
      takeFromAside(member)
    } else if place != Place.none {
      wheel.remove(member)
    }
    due.pointee.place = Place.none
  }

  /// Gives a membership a later date without moving it: it lies in the wheel, and is put where it belongs
  /// when the slot that it lies in comes up. False for any that lies elsewhere, or moves ahead.
  @inline(__always)
  mutating func postpone(_ member: Item, to date: Int64) -> Bool {
    let due = member.due
    let place = due.pointee.place
    guard place &- Place.wheel < Place.near &- Place.wheel, date >= due.pointee.date else { return false }
    lastSequence &+= 1
    due.pointee.sequence = lastSequence
    due.pointee.date = date
    return true
  }

  // MARK: What is next

  @inline(__always)
  private mutating func firstEntry() -> TimerHeap.Entry? {
    guard let exact = wheel.first() else { return tolerant.first }
    guard let other = tolerant.first, other.precedes(exact) else { return exact }
    return other
  }

  /// The date of the next queued timer; `Clock.forever` when there is none.
  @inline(never)
  mutating func firstDate() -> Int64 {
    if asideFirst != 0 { reinstateAside() }
    return firstEntry()?.key ?? Clock.forever
  }

  /// When a sleep has to end: the date of the first exact timer, or the first latest date of the others.
  mutating func nextWake() -> Int64 {
    if asideFirst != 0 { reinstateAside() }
    return min(wheel.first()?.key ?? Clock.forever, latest.first?.key ?? Clock.forever)
  }

  /// Takes the first membership out if it is due.
  @inline(__always)
  mutating func takeDue(_ now: Int64) -> Item? {
    guard let entry = firstEntry(), entry.key <= now, let member = Item(.timer, slot: entry.slot) else { return nil }
    if member.due.pointee.place >= Place.tolerant {
      remove(member)
    } else {
      wheel.takeFirst(member)
      member.due.pointee.place = Place.none
    }
    return member
  }

  // MARK: Out of memory

  private mutating func setAside(_ member: Item) {
    member.cell.pointee.previous = 0
    member.cell.pointee.next = asideFirst
    Item(.timer, slot: asideFirst)?.cell.pointee.previous = member.slot
    asideFirst = member.slot
    member.due.pointee.place = Place.aside
  }

  private mutating func takeFromAside(_ member: Item) {
    let next = member.cell.pointee.next
    let previous = member.cell.pointee.previous
    Item(.timer, slot: next)?.cell.pointee.previous = previous
    if let before = Item(.timer, slot: previous) { before.cell.pointee.next = next } else { asideFirst = next }
  }

  private mutating func reinstateAside() {
    var next = asideFirst
    asideFirst = 0
    while let member = Item(.timer, slot: next) {
      next = member.cell.pointee.next
      member.due.pointee.place = Place.none
      insert(member, tolerance: member.primary.tolerance)
    }
  }

  /// Any queued membership, in no particular order.
  @inline(never)
  mutating func any() -> Item? {
    Item(.timer, slot: firstEntry()?.slot ?? asideFirst)
  }
}
