// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A timer's part of its slot, behind the `ItemCell`. In an alias it schedules that membership; the
/// primary's `date` is the timer's.
///
/// Guarded by the lock of the timer's loop; by the item's lock while the timer is in no loop.
struct TimerCell {
  var date: Int64
  /// Orders timers of one date by insertion (TMR-11).
  var sequence: UInt32
  /// Where the queue has it: `TimerQueue.Place`.
  var place: UInt32
}

/// Timers (§8 of the rules).
extension Item {
  static let longestInterval: Int64 = 504_911_232_000_000_000  // 16 years

  @inline(__always)
  var timer: UnsafeMutablePointer<TimerCell> {
    (UnsafeMutableRawPointer(cell) + 48).assumingMemoryBound(to: TimerCell.self)
  }

  package static func timer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions, date: Int64,
    interval: Int64, tolerance: Int64
  ) throws(Failure) -> Item {
    if interval < 0 { throw Failure(Status.range, "interval_ns", "is negative") }
    var context = options.value
    var flags: UInt32 = 0
    if interval > 0 {
      context.interval = min(max(interval, 1000), longestInterval)
    } else {
      flags |= Flag.once
    }
    context.tolerance = limited(tolerance, interval: context.interval)
    if context.tolerance > 0 { flags |= Flag.tolerant }
    if context.main.invoke != nil { flags |= Flag.indirect }
    let item = try create(.timer, flags: flags, code: code, info: info, context: context.isTrivial ? nil : context)
    item.timer.pointee = TimerCell(date: date, sequence: 0, place: TimerQueue.Place.none)
    return item
  }

  /// A tolerance within its bounds (TMR-5).
  private static func limited(_ tolerance: Int64, interval: Int64) -> Int64 {
    let positive = max(tolerance, 0)
    return interval > 0 ? min(positive, interval / 2) : min(positive, longestInterval)
  }

  package var interval: Int64 { context?.pointee.interval ?? 0 }
  /// Guarded as the date is.
  var tolerance: Int64 { context?.pointee.tolerance ?? 0 }
  package var repeats: Bool { !hasFlag(Flag.once) }

  /// Calls `body` under the locks that guard the timer's date, with its loop if it is in one.
  @inline(__always)
  private func withTimerLocked<Result>(_ body: (Loop?) -> Result) -> Result {
    if let loop = lockOnlyLoop() {
      let result = body(loop)
      loop.mutex.unlock()
      return result
    }
    lock()
    let loop = onlyLoop
    loop?.mutex.lock()
    let result = body(loop)
    loop?.mutex.unlock()
    unlock()
    return result
  }

  /// For a timer in a single mode: locks its loop, which is enough, since no membership begins or ends in a
  /// loop without that. Nil for any other.
  @inline(__always)
  private func lockOnlyLoop() -> Loop? {
    guard !hasFlag(Flag.aliased), let mode, let loop = mode.loop else { return nil }
    loop.mutex.lock()
    // The timer, or what its mode's slot means, may have changed meanwhile.
    if isIn(mode) && !hasFlag(Flag.aliased) && mode.loop?.state == loop.state { return loop }
    loop.mutex.unlock()
    return nil
  }

  /// The date as it was asked for (TMR-2); 0 when invalid (TMR-4).
  package func nextFire() -> Int64 {
    let date = withTimerLocked { _ in timer.pointee.date }
    return isValid ? date : 0
  }

  package func currentTolerance() -> Int64 { withTimerLocked { _ in tolerance } }

  /// Moves the timer and its grid (TMR-17).
  package func setNextFire(_ date: Int64) -> Int32 {
    if !isValid { return Status.ignored }
    let loop = withTimerLocked { loop -> Loop? in
      setDateLocked(date)
      return loop
    }
    if let loop, !loop.isCurrent { loop.interruptSleep() }
    return Status.ok
  }

  @inline(__always)
  private func setDateLocked(_ date: Int64) {
    if hasFlag(Flag.running) {
      timer.pointee.date = date
      setFlag(Flag.rescheduled)
    } else {
      reschedule(date)
    }
  }

  /// Moves every membership's place in its queue to a date. Locked as the date.
  @inline(__always)
  private func reschedule(_ date: Int64) {
    if !hasFlag(Flag.aliased), let mode, mode.postpone(self, to: date) { return }
    relocate(date)
  }

  @inline(never)
  private func relocate(_ date: Int64) {
    forEachScheduled { mode, member in mode.unschedule(member) }
    timer.pointee.date = date
    forEachScheduled { mode, member in mode.schedule(member, of: self) }
  }

  /// The timer's memberships in modes, the record of common items left out. Locked as the date.
  func forEachScheduled(_ body: (Mode, Item) -> Void) {
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.state.pointee.isRecord { body(mode, member) }
      next = following(member)
    }
  }

  @_optimize(size)
  package func setTolerance(_ tolerance: Int64) throws(Failure) -> Int32 {
    lock()
    let context = needContext()
    unlock()
    guard let context else { throw Failure.noMemory("tolerance_ns") }
    let loop = withTimerLocked { loop -> Loop? in
      forEachScheduled { mode, member in mode.unschedule(member) }
      context.pointee.tolerance = Item.limited(tolerance, interval: context.pointee.interval)
      if context.pointee.tolerance > 0 { setFlag(Flag.tolerant) } else { clearFlag(Flag.tolerant) }
      if !hasFlag(Flag.running) { forEachScheduled { mode, member in mode.schedule(member, of: self) } }
      return loop
    }
    if let loop, !loop.isCurrent { loop.interruptSleep() }
    return Status.ok
  }

  /// The info is kept for the length of a callback, whatever becomes of the timer (TMR-7). Without a
  /// retain there is nothing to give back afterwards.
  func retainForCall() { _ = context?.pointee.retain?(cell.pointee.info) }
  func releaseAfterCall() {
    guard let context, context.pointee.retain != nil else { return }
    context.pointee.release?(cell.pointee.info)
  }

  /// Calls the callback here and now, whatever the date (NST-3).
  @_optimize(size)
  package func fireByHand() -> Int32 {
    if !beginRunning() { return Status.ignored }
    // As when it is due: no mode has it queued while it runs.
    withTimerLocked { _ in forEachScheduled { mode, member in mode.unschedule(member) } }
    retainForCall()
    let isOpen = ClientCall.during { callByHand() }
    releaseAfterCall()
    if hasFlag(Flag.once) { invalidate() }
    comeToRest(takesNextDate: false)
    if let loop = withTimerLocked({ $0 }), !loop.isCurrent { loop.interruptSleep() }
    return isOpen ? Status.ok : Status.closed
  }

  private func callByHand() {
    if let invoke = context?.pointee.main.invoke {
      var event = Event(
        Event.Kind.timer, token: context?.pointee.token ?? 0, loop: Loop.existing, subject: handle.bits, mode: nil)
      event.late = max(Clock.now() &- timer.pointee.date, 0)
      if !invoke(context?.pointee.main.object, &event) { Loop.existing?.failRun() }
    } else if let code {
      unsafeBitCast(code, to: Loop.PlainItem.self)(handlePointer, info)
    }
  }

  /// After the callback: a one-shot ends; a repeating timer takes the first date of its grid that is later
  /// than now, all missed ones dropped; a date set meanwhile wins (TMR-15 to TMR-17).
  func finishFiring() {
    if !hasFlag(Flag.once) {
      comeToRest(takesNextDate: true)
      return
    }
    invalidate()
    if clearFlag(Flag.running | Flag.rescheduled) & Flag.releasing != 0 { releaseInfo() }
  }

  /// The callback is over: at rest and queued again in one step, so that a date set by another thread
  /// either is seen here or moves the queued timer.
  func comeToRest(takesNextDate: Bool) {
    let old = withTimerLocked { _ -> UInt32 in
      let old = clearFlag(Flag.running | Flag.rescheduled)
      if old & Flag.valid == 0 { return old }
      if takesNextDate && old & Flag.rescheduled == 0 { timer.pointee.date = dateAfter(Clock.now()) }
      forEachScheduled { mode, member in mode.schedule(member, of: self) }
      return old
    }
    if old & Flag.releasing != 0 { releaseInfo() }
  }

  /// The grid's first date later than `now`, by division: a microsecond timer after a day's pause takes
  /// no longer.
  private func dateAfter(_ now: Int64) -> Int64 {
    let date = timer.pointee.date
    let step = max(interval, 1)
    if date > now { return Clock.after(step, from: date) }
    // Dates far in the past: the distance may not fit a signed number, but always an unsigned one.
    let missed = UInt64(bitPattern: now &- date) / UInt64(step)
    let last = date &+ Int64(bitPattern: missed &* UInt64(step))
    return Clock.after(step, from: last)
  }
}
