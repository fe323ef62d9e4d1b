// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// The timers of a mode, as the rest of the core sees them. The caller holds the loop's lock, where the
/// text does not say otherwise.
extension Mode {
  /// The mode's queue with room for one more timer.
  func needQueue(tolerant: Bool) throws(Failure) {
    if state.pointee.queue == nil { state.pointee.queue = TimerQueue.make() }
    guard let queue = state.pointee.queue, queue.pointee.reserve(tolerant: tolerant) else {
      throw Failure.noMemory("timer")
    }
  }

  /// Queues a membership at the timer's date, unless its callback runs: then it is queued afterwards.
  @inline(never)
  func schedule(_ member: Item, of item: Item) {
    let flags = item.flags
    guard let queue = state.pointee.queue, flags & Item.Flag.running == 0 else { return }
    member.timer.pointee.date = item.timer.pointee.date
    queue.pointee.insert(member, tolerance: flags & Item.Flag.tolerant == 0 ? 0 : item.tolerance)
    noteDate(member.timer.pointee.date)
  }

  @inline(never)
  func unschedule(_ member: Item) { state.pointee.queue?.pointee.remove(member) }

  /// Moves the only membership of a timer to a later date where it lies. False if that cannot be.
  @inline(__always)
  func postpone(_ member: Item, to date: Int64) -> Bool {
    state.pointee.queue?.pointee.postpone(member, to: date) == true
  }

  @inline(__always)
  func noteDate(_ date: Int64) {
    if date < state.pointee.earliest.load(ordering: .relaxed) {
      state.pointee.earliest.store(date, ordering: .sequentiallyConsistent)
      noteRevision()
    }
  }

  /// A timer has come in.
  @inline(__always)
  func noteEntry(_ date: Int64) {
    noteDate(date)
    state.pointee.isUnlisted = false
    countContent(1)
  }

  /// The earliest date in the queue, or an earlier one. Any thread, no lock.
  @inline(__always)
  var earliestDate: Int64 { state.pointee.earliest.load(ordering: .acquiring) }

  /// When a sleep in this mode has to end for a timer. Takes the lock.
  @inline(__always)
  func nextWake() -> Int64 {
    if earliestDate == Clock.forever { return Clock.forever }
    return nextWakeLocked()
  }

  @inline(never)
  private func nextWakeLocked() -> Int64 {
    guard let loop, let queue = state.pointee.queue else { return Clock.forever }
    loop.mutex.lock()
    defer { loop.mutex.unlock() }
    updateEarliest(queue)
    return queue.pointee.nextWake()
  }

  private func updateEarliest(_ queue: UnsafeMutablePointer<TimerQueue>) {
    state.pointee.earliest.store(queue.pointee.firstDate(), ordering: .sequentiallyConsistent)
  }

  /// The date of the next timer; nil when there is none.
  func nextFire() -> Int64? {
    guard let queue = state.pointee.queue else { return nil }
    let date = min(queue.pointee.firstDate(), queue.pointee.collectedDate)
    return date == Clock.forever && queue.pointee.any() == nil ? nil : date
  }

  var anyTimer: Item? { state.pointee.queue?.pointee.any() }

  /// Takes the due timers out of the queue, in the order of their dates (TMR-11). False when there are
  /// none. Takes the lock.
  func collectTimers(_ batch: inout TimerBatch, now: Int64) -> Bool {
    guard let loop, let queue = state.pointee.queue else { return false }
    batch.begin(now: now)
    loop.mutex.lock()
    defer { loop.mutex.unlock() }
    while let member = queue.pointee.takeDue(now) {
      if !batch.append(member) {
        queue.pointee.insert(member, tolerance: member.primary.tolerance)
        break
      }
    }
    updateEarliest(queue)
    return !batch.isOver
  }

  /// The next collected timer that at its turn is still valid, in this mode, due and at rest; its callback
  /// marked as running, and one reference held. Nil at the end. Takes the lock.
  func takeTimer(_ batch: inout TimerBatch) -> Item? {
    guard let loop, let queue = state.pointee.queue else { return nil }
    loop.mutex.lock()
    defer { loop.mutex.unlock() }
    return takeTimerLocked(&batch, queue)
  }

  /// The same under the lock.
  @inline(never)
  func takeTimerLocked(_ batch: inout TimerBatch, _ queue: UnsafeMutablePointer<TimerQueue>) -> Item? {
    defer { queue.pointee.collectedDate = batch.nextDate(in: self) }
    while let mention = batch.next(in: self) {
      guard let member = mention.cell(.timer, in: self) else { continue }
      let flags = member.flags
      let isSingle = flags & (Item.Flag.alias | Item.Flag.aliased) == 0
      let item = isSingle ? member : member.primary
      if item.timer.pointee.date > batch.now { continue }
      // The mode's own reference makes it safe to add one. Its other modes let it go while it runs.
      item.cell.pointee.reference.retainHeld()
      if item.beginRunning() {
        if !isSingle {
          item.forEachScheduled { mode, other in mode.unschedule(other) }
        } else if item.timer.pointee.place != TimerQueue.Place.none {
          queue.pointee.remove(item)
        }
        return item
      }
      // Invalid: it is about to leave this mode. Or it runs further out.
      _ = item.cell.pointee.reference.release()
    }
    return nil
  }

  /// Queues again what was collected but not fired: for a run inside, which may fire it first, or because
  /// the run ends here. Takes the lock.
  func reinstateTimers(_ batch: TimerBatch) {
    guard let loop else { return }
    loop.mutex.lock()
    defer { loop.mutex.unlock() }
    guard let queue = state.pointee.queue else { return }
    var rest = batch
    while let mention = rest.next(in: self) {
      guard let member = mention.cell(.timer, in: self), member.timer.pointee.place == TimerQueue.Place.none else {
        continue
      }
      let item = member.primary
      if item.isValid { schedule(member, of: item) }
    }
    queue.pointee.collectedDate = Clock.forever
    updateEarliest(queue)
  }
}

extension Loop {
  /// The date of the timer that is next in a mode (TMR-9); 0 when there is none.
  package func nextFire(_ name: ModeName) -> Int64 {
    mutex.lock()
    defer { mutex.unlock() }
    guard let mode = findMode(name), !mode.state.pointee.isRecord else { return 0 }
    return mode.nextFire() ?? 0
  }
}
