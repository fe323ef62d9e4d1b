// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The timers of one mode. Exact ones lie in a wheel; those with a tolerance in two heaps, by their date
/// and by their latest date, so that a sleep can last until the latest while nothing fires early.
///
/// Guarded by the loop's lock.
struct TimerQueue {
  typealias Place = TimerCell.Place

  private(set) var wheel: TimerWheel
  private var tolerant = TimerHeap()
  /// The memberships of `tolerant` by their latest dates.
  var latest = TimerHeap()
  private var lastSequence: UInt32 = 0
  /// The first of those that lie nowhere, for want of memory, linked.
  var asideFirst: UInt32 = 0
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
    member.due.sequence = lastSequence
    if !wheel.insert(member.timer) { setAside(member) }
  }

  /// Queues one that has a tolerance, or is on the wall clock, likewise.
  mutating func insertTolerant(_ member: Item) {
    lastSequence &+= 1
    member.due.sequence = lastSequence
    let entry = TimerHeap.Entry(key: member.due.date, sequence: lastSequence, slot: member.slot)
    let last = TimerHeap.Entry(key: TimerQueue.latest(entry), sequence: lastSequence, slot: member.slot)
    // Room in both before it is in one of them.
    guard tolerant.reserve(), latest.reserve() else { return setAside(member) }
    _ = latest.insert(last, moved: TimerQueue.noteLatest) && tolerant.insert(entry, moved: TimerQueue.noteTolerant)
  }

  /// Puts back what was taken out at its date, behind the others of that.
  mutating func requeue(_ member: Item) {
    if member.primary.hasState(Item.State.tolerant) { insertTolerant(member) } else { insertExact(member) }
  }

  /// Until when the timer of an entry may be late.
  private static func latest(_ entry: TimerHeap.Entry) -> Int64 {
    Clock.after(Item(.timer, slot: entry.slot)?.primary.tolerance ?? 0, from: entry.key)
  }

  /// The wall clock was set: works out the dates of the timers on it anew. They keep their order.
  @_optimize(size)
  mutating func moveWallDates(_ loop: Loop) {
    tolerant.rekey(
      { entry in
        guard let member = Item(.timer, slot: entry.slot), member.primary.hasTrait(Item.Trait.wall) else {
          return entry.key
        }
        member.primary.due.date = loop.monotonic(of: member.primary)
        member.due.date = member.primary.due.date
        return member.due.date
      }, moved: TimerQueue.noteTolerant)
    latest.rekey(
      { entry in
        Item(.timer, slot: entry.slot).map { Clock.after($0.primary.tolerance, from: $0.due.date) } ?? entry.key
      },
      moved: TimerQueue.noteLatest)
  }

  private static func noteLatest(_ entry: TimerHeap.Entry, _ index: Int) {
    Item(.timer, slot: entry.slot)?.due.latest = UInt32(truncatingIfNeeded: index)
  }
  private static func noteTolerant(_ entry: TimerHeap.Entry, _ index: Int) {
    Item(.timer, slot: entry.slot)?.due.place = Place.tolerant &+ UInt32(truncatingIfNeeded: index)
  }

  mutating func remove(_ member: Item) {
    let place = member.due.place
    if place >= Place.tolerant {
      tolerant.remove(at: Int(place &- Place.tolerant), moved: TimerQueue.noteTolerant)
      latest.remove(at: Int(member.due.latest), moved: TimerQueue.noteLatest)
    } else if place == Place.aside {
      takeFromAside(member)
    } else if place != Place.none {
      wheel.remove(member.timer)
    }
    member.due.place = Place.none
  }

  /// Gives a membership a later date without moving it: it lies in the wheel, and is put where it belongs
  /// when the slot that it lies in comes up. False for any that lies elsewhere, or moves ahead.
  @inline(__always)
  mutating func postpone(_ member: Item, to date: Int64) -> Bool {
    let place = member.due.place
    guard place &- Place.wheel < Place.near &- Place.wheel, date >= member.due.date else { return false }
    lastSequence &+= 1
    member.due.sequence = lastSequence
    member.due.date = date
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
    if member.due.place >= Place.tolerant {
      remove(member)
    } else {
      wheel.takeFirst(member.timer)
      member.due.place = Place.none
    }
    return member
  }

  // MARK: Out of memory

  private mutating func setAside(_ member: Item) {
    member.cell.previous = 0
    member.cell.next = asideFirst
    Item(.timer, slot: asideFirst)?.cell.previous = member.slot
    asideFirst = member.slot
    member.due.place = Place.aside
  }

  private mutating func takeFromAside(_ member: Item) {
    let next = member.cell.next
    let previous = member.cell.previous
    Item(.timer, slot: next)?.cell.previous = previous
    if let before = Item(.timer, slot: previous) { before.cell.next = next } else { asideFirst = next }
  }

  private mutating func reinstateAside() {
    var next = asideFirst
    asideFirst = 0
    while let member = Item(.timer, slot: next) {
      next = member.cell.next
      member.due.place = Place.none
      requeue(member)
    }
  }

  // MARK: Invariants

  /// Counts the memberships, and finds their first date. Returns what is broken of their order, in words, or nil.
  func brokenInvariant(_ count: inout Int, _ first: inout Int64) -> StaticString? {
    if let broken = wheel.brokenInvariant(&count, &first) { return broken }
    var (dates, latestDates) = (0, 0)
    let isAtDate = tolerant.isInOrder { entry, index in
      guard let member = Item(.timer, slot: entry.slot) else { return false }
      dates &+= 1
      first = min(first, entry.key)
      return member.due.place == Place.tolerant &+ UInt32(truncatingIfNeeded: index) && member.due.date == entry.key
    }
    let isAtLatest = latest.isInOrder { entry, index in
      latestDates &+= 1
      return Item(.timer, slot: entry.slot)?.due.latest == UInt32(truncatingIfNeeded: index)
    }
    if !isAtDate || !isAtLatest { return "a timer with a tolerance knows its place in an ordered heap" }
    if dates != latestDates { return "a timer with a tolerance is in both heaps" }
    count &+= dates
    var next = asideFirst
    while let member = Item(.timer, slot: next) {
      if member.due.place != Place.aside { return "a timer that is set aside knows it" }
      count &+= 1
      first = min(first, member.due.date)
      next = member.cell.next
    }
    return nil
  }

  /// Any queued membership, in no particular order.
  @inline(never)
  mutating func any() -> Item? {
    Item(.timer, slot: firstEntry()?.slot ?? asideFirst)
  }
}
