// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Timers (§8 of the rules).
///
/// A timer is *idle* while its date is `Clock.forever` and its callback does not run. It stays in its modes, but keeps
/// none from being empty. An idle timer that no client owns ends, since nobody would give it a date again: whoever
/// makes it idle and whoever releases the last client's reference both exchange the item's reference, and the later of
/// the two sees to it.
extension Item {
  static let longestInterval: Int64 = 504_911_232_000_000_000  // 16 years

  /// A one-shot with nothing but a plain callback.
  @inline(__always)
  package static func timer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64
  ) throws(Failure) -> Item {
    try create(.timer, traits: Trait.once, code: code, info: info, context: nil) { $0.beginDue(date) }
  }

  package static func timer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context, date: Int64,
    interval: Int64, tolerance: Int64, ends: Bool = false, onWallClock: Bool = false
  ) throws(Failure) -> Item {
    if interval < 0 { throw Failure(Status.range, "interval_ns", "is negative") }
    var context = context
    var traits: UInt8 = 0
    if interval > 0 {
      context.interval = min(max(interval, 1000), longestInterval)
    } else {
      traits |= ends ? Trait.once | Trait.ends : Trait.once
    }
    context.tolerance = limited(tolerance, interval: context.interval)
    context.wallDate = date
    if onWallClock { traits |= Trait.wall }
    let isTolerant = context.tolerance > 0 || onWallClock
    if context.main.invoke != nil { traits |= Trait.indirect }
    return try create(
      .timer, traits: traits, code: code, info: info, context: context.isTrivial && !onWallClock ? nil : context
    ) {
      $0.beginDue(date)
      if isTolerant { $0.setState(State.tolerant) }
    }
  }

  /// With a delay, which counts as all do (`Loop.delayStart`). The loop is the calling thread's.
  @inline(__always)
  package static func timer(
    on loop: Loop, after delay: Int64, interval: Int64, code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Item {
    let date = date(after: delay, from: Loop.delayStart())
    if interval == 0 { return try timer(code: code, info: info, date: date) }
    return try timer(code: code, info: info, context: Context(), date: date, interval: interval, tolerance: 0)
  }

  /// The date after a delay; none, after `Clock.forever`.
  private static func date(after delay: Int64, from now: Int64) -> Int64 {
    delay == Clock.forever ? delay : min(Clock.after(delay, from: now), Clock.forever &- 1)
  }

  @inline(__always)
  private func beginDue(_ date: Int64) {
    due = TimerCell.Due(date: date)
    if date == Clock.forever { setState(State.idle) }
  }

  /// A tolerance within its bounds (TMR-5).
  private static func limited(_ tolerance: Int64, interval: Int64) -> Int64 {
    let positive = max(tolerance, 0)
    return interval > 0 ? min(positive, interval / 2) : min(positive, longestInterval)
  }

  package var interval: Int64 { context?.pointee.interval ?? 0 }
  /// Guarded as the date is.
  var tolerance: Int64 { context?.pointee.tolerance ?? 0 }

  // MARK: Dates

  /// The date as it was asked for (TMR-2); 0 when idle (TMR-24) or invalid (TMR-4).
  package func nextFire() -> Int64 {
    let date = withDueLocked { _ in self.date }
    return isValid && date != Clock.forever ? date : 0
  }

  package var isOnWallClock: Bool { hasTrait(Trait.wall) }
  package func currentTolerance() -> Int64 { withDueLocked { _ in tolerance } }

  /// The date as the client knows it, which of a timer on the wall clock is another one than that by which it is
  /// queued.
  @inline(__always)
  var date: Int64 { hasTrait(Trait.wall) ? context?.pointee.wallDate ?? 0 : due.date }
  @inline(__always)
  private func setDate(_ date: Int64) {
    due.date = date
    if hasTrait(Trait.wall) { context?.pointee.wallDate = date }
  }

  /// What a client gives a timer: a date, or a delay. A delay counts as all do (`Loop.delayStart`), of a timer on the
  /// wall clock from now.
  package enum When {
    case at(Int64)
    case after(Int64)
  }

  @inline(__always)
  private func date(_ when: When) -> Int64 {
    switch when {
    case .at(let date): return date
    case .after(let delay):
      if hasTrait(Trait.wall) { return Item.date(after: delay, from: Clock.wall()) }
      return Item.date(after: delay, from: Loop.delayStart())
    }
  }

  /// Moves the timer that a client's handle means, and its grid (TMR-17). One that is in a mode is not held: it lives
  /// while the lock of its loop is held, and so does not change its generation.
  @inline(__always)
  package static func setNextFire(_ timer: UInt, _ when: When) throws(Failure) -> Int32 {
    let handle = Handle(bits: timer)
    let item = try locate(.timer, handle, "timer")
    guard let loop = item.lockOnlyLoop() else {
      let item = try hold(.timer, timer, "timer")
      defer { item.letGo() }
      return item.setNextFire(when)
    }
    let seen = item.cell.reference.seen
    let isMeant = seen.generation == handle.generation
    let isValid = isMeant && seen.has(Reference.Mark.valid)
    let change = isValid ? item.changeDate(item.date(when)) : .nothing
    loop.unlock()
    if !isMeant { throw handle.failure("timer") }
    if change != .nothing { item.follow(change, handle.generation, loop) }
    return isValid ? Status.ok : Status.ignored
  }

  /// For one who holds it.
  package func setNextFire(_ when: When) -> Int32 {
    if !isValid { return Status.ignored }
    var change = Change.nothing
    let loop = withDueLocked { loop -> Loop? in
      change = changeDate(date(when))
      return loop
    }
    if change != .nothing { follow(change, generation, loop) }
    return Status.ok
  }

  /// What another date has changed for others than the timer.
  private enum Change {
    case nothing
    case sleep
    case idle
  }

  /// Gives a valid timer another date: at its place in the wheel, if it is later, or when its callback has returned.
  /// The lock of the date is held.
  @inline(__always)
  private func changeDate(_ date: Int64) -> Change {
    if hasState(State.running) {
      setDate(date)
      setState(State.rescheduled)
      return .nothing
    }
    if date != Clock.forever, !hasNote(Note.aliased), let mode, mode.postpone(self, to: date) { return .nothing }
    move(to: date)
    return date == Clock.forever ? .idle : .sleep
  }

  @inline(__always)
  private func follow(_ change: Change, _ generation: UInt32, _ loop: Loop?) {
    if change == .idle { endIdle(generation) }
    if let loop, loop.isWaitedFor { loop.interruptSleep() }
  }

  /// Puts every membership where a date says. The lock of the date is held, and the callback does not run.
  @inline(__always)
  func move(to date: Int64) {
    forEachScheduled { mode, member in mode.unschedule(member) }
    setDate(date)
    setState(date == Clock.forever ? State.idle : 0, clear: State.idle)
    forEachScheduled { mode, member in mode.schedule(member, of: self) }
  }

  /// The last client's reference was released, when the timer was idle.
  @inline(never)
  func endIdle(_ generation: UInt32) {
    if !cell.reference.hold(generation) { return }
    endIfIdle()
    drop()
  }

  /// Ends the timer, which the caller keeps, if it is idle and no client owns it.
  @inline(never)
  private func endIfIdle() {
    let isOver = withDueLocked { _ in
      hasState(State.idle) && !hasState(State.running) && cell.reference.clear(Reference.Mark.valid, evenIfOwned: false)
    }
    if isOver { leaveEverything() }
  }

  package func setTolerance(_ tolerance: Int64) throws(Failure) -> Int32 {
    lock()
    let context = needContext()
    unlock()
    guard let context else { throw Failure.noMemory("tolerance_ns") }
    let limited = Item.limited(tolerance, interval: context.pointee.interval)
    var hasRoom = true
    let loop = withDueLocked { loop -> Loop? in
      if limited > 0 {
        forEachScheduled { mode, _ in
          if mode.state.queue?.pointee.reserve(tolerant: true) == false { hasRoom = false }
        }
        if !hasRoom { return nil }
      }
      context.pointee.tolerance = limited
      setState(limited > 0 || hasTrait(Trait.wall) ? State.tolerant : 0, clear: State.tolerant)
      move(to: date)
      return loop
    }
    if !hasRoom { throw Failure.noMemory("tolerance_ns") }
    if let loop, loop.isWaitedFor { loop.interruptSleep() }
    return Status.ok
  }
}
