// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// The timers of a mode, as the rest of the core sees them. The loop's lock is held, where the text does not say
/// otherwise.
extension Mode {
  /// The mode's queue with room for one more timer.
  @inline(__always)
  func needQueue(tolerant: Bool) throws(Failure) {
    assertHeld()
    if state.queue == nil { state.queue = TimerQueue.make() }
    guard let queue = state.queue, queue.pointee.reserve(tolerant: tolerant) else {
      throw Failure.noMemory("timer")
    }
  }

  /// Queues a membership at the timer's date. While the callback runs, and while there is no date, it rests in the
  /// mode's list instead; without a date it is not counted as content.
  @inline(__always)
  func schedule(_ member: Item, of item: Item) {
    assertHeld()
    let date = item.due.date
    if date == Clock.forever || item.hasState(Item.State.running | Item.State.tolerant) {
      return scheduleElse(member, of: item)
    }
    guard let queue = state.queue else { return }
    member.due.date = date
    queue.pointee.insertExact(member)
    noteQueued(date)
  }

  @inline(__always)
  private func noteQueued(_ date: Int64) {
    if date < state.earliest.load(ordering: .relaxed) {
      state.earliest.store(date, ordering: .releasing)
    }
  }

  /// One that does not lie in the wheel.
  @inline(never)
  private func scheduleElse(_ member: Item, of item: Item) {
    if item.hasState(Item.State.running) { return rest(member) }
    if item.due.date == Clock.forever {
      rest(member)
      member.due.place = TimerQueue.Place.idle
      return countContent(-1)
    }
    guard let queue = state.queue, let loop else { return }
    if item.hasTrait(Item.Trait.wall) { item.due.date = loop.monotonic(of: item) }
    member.due.date = item.due.date
    queue.pointee.insertTolerant(member)
    noteQueued(member.due.date)
  }

  @inline(__always)
  func unschedule(_ member: Item) {
    if member.due.place != TimerQueue.Place.none { unscheduleNow(member) }
  }

  @inline(never)
  private func unscheduleNow(_ member: Item) {
    assertHeld()
    let place = member.due.place
    if place == TimerQueue.Place.resting || place == TimerQueue.Place.idle {
      if place == TimerQueue.Place.idle { countContent(1) }
      state.timers.remove(member)
      member.due.place = TimerQueue.Place.none
    } else {
      state.queue?.pointee.remove(member)
    }
  }

  /// Takes a membership of a timer out of the queue while its callback runs.
  @inline(never)
  func rest(_ member: Item) {
    assertHeld()
    unschedule(member)
    state.timers.append(member)
    member.due.place = TimerQueue.Place.resting
  }

  /// An invalid timer that was collected lies somewhere until it is taken out, so that the end of its loop finds it.
  @inline(never)
  func restIfNowhere(_ member: Item) {
    if member.due.place == TimerQueue.Place.none { rest(member) }
  }

  /// Moves the only membership of a timer to a later date where it lies. False if that cannot be.
  @inline(__always)
  func postpone(_ member: Item, to date: Int64) -> Bool {
    assertHeld()
    return state.queue?.pointee.postpone(member, to: date) == true
  }

  /// The earliest date in the queue, or an earlier one. Any thread, no lock. A date acquires the queue, which may be
  /// new. A sleeper that misses one finds that the loop's `changes` were counted behind it.
  @inline(__always)
  var earliestDate: Int64 { state.earliest.load(ordering: .acquiring) }

  /// When a sleep in this mode has to end for a timer. Takes the lock.
  @inline(__always)
  func nextWake() -> Int64 { earliestDate == Clock.forever ? Clock.forever : findNextWake() }

  @inline(never)
  private func findNextWake() -> Int64 {
    guard let loop, let queue = state.queue else { return Clock.forever }
    loop.lock()
    defer { loop.unlock() }
    updateEarliest(queue)
    return queue.pointee.nextWake()
  }

  func updateEarliest(_ queue: UnsafeMutablePointer<TimerQueue>) {
    assertHeld()
    state.earliest.store(queue.pointee.firstDate(), ordering: .releasing)
  }

  /// The date of the next timer; `Clock.forever` when there is none.
  fileprivate func nextFire() -> Int64 {
    guard let queue = state.queue else { return Clock.forever }
    return min(queue.pointee.firstDate(), queue.pointee.collectedDate)
  }

  /// Takes the due timers out of the queue, in the order of their dates (TMR-11). False when there are none. Takes the
  /// lock.
  func collectTimers(_ entries: inout Buffer<Entry>, now: Int64) -> Bool {
    guard let loop, let queue = state.queue else { return false }
    entries.removeAll()
    loop.lock()
    defer { loop.unlock() }
    while let member = queue.pointee.takeDue(now) {
      if entries.append(Entry(member, UInt64(bitPattern: member.due.date))) { continue }
      queue.pointee.requeue(member)
      break
    }
    updateEarliest(queue)
    return !entries.isEmpty
  }

  /// The timer that the loop comes to next, of those that it has collected; nil at their end.
  @inline(__always)
  func noteCollected(_ entry: Entry?) {
    state.queue?.pointee.collectedDate = entry.map { Int64(bitPattern: $0.second) } ?? Clock.forever
  }

  /// Queues again what was collected but not fired: for a run inside, which may fire it first, or because the run ends
  /// here. Takes the lock.
  func reinstateTimers(_ entries: Buffer<Entry>, from index: Int) {
    guard let loop else { return }
    loop.lock()
    defer { loop.unlock() }
    guard let queue = state.queue else { return }
    var index = index
    while let entry = entries[index] {
      index &+= 1
      guard let member = Item(.timer, slot: entry.mention.slot), entry.mention.means(member), member.isIn(self),
        member.due.place == TimerQueue.Place.none
      else { continue }
      let item = member.primary
      // Whoever has made it invalid takes it out, or finds that the loop has done so at its end.
      if item.isValid { schedule(member, of: item) } else { rest(member) }
    }
    queue.pointee.collectedDate = Clock.forever
    updateEarliest(queue)
  }
}

extension Loop {
  /// The date of the timer that is next in a mode (TMR-9); 0 when there is none.
  package func nextFire(_ name: ModeName) throws(Failure) -> Int64 {
    lock()
    defer { unlock() }
    guard let mode = try findMode(name), !mode.isRecord else { return 0 }
    let date = mode.nextFire()
    return date == Clock.forever ? 0 : date
  }
}
