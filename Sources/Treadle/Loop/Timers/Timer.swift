// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Timers (§8 of the rules).
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
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions, date: Int64,
    interval: Int64, tolerance: Int64
  ) throws(Failure) -> Item {
    if interval < 0 { throw Failure(Status.range, "interval_ns", "is negative") }
    var context = options.value
    var traits: UInt8 = 0
    if interval > 0 {
      context.interval = min(max(interval, 1000), longestInterval)
    } else {
      traits |= Trait.once
    }
    context.tolerance = limited(tolerance, interval: context.interval)
    let isTolerant = context.tolerance > 0
    if context.main.invoke != nil { traits |= Trait.indirect }
    return try create(.timer, traits: traits, code: code, info: info, context: context.isTrivial ? nil : context) {
      $0.beginDue(date)
      if isTolerant { $0.setState(State.tolerant) }
    }
  }

  @inline(__always)
  private func beginDue(_ date: Int64) {
    due.pointee = TimerCell.Due(date: date, sequence: 0, place: TimerQueue.Place.none, latest: 0)
  }

  /// A tolerance within its bounds (TMR-5).
  private static func limited(_ tolerance: Int64, interval: Int64) -> Int64 {
    let positive = max(tolerance, 0)
    return interval > 0 ? min(positive, interval / 2) : min(positive, longestInterval)
  }

  package var interval: Int64 { context?.pointee.interval ?? 0 }
  /// Guarded as the date is.
  var tolerance: Int64 { context?.pointee.tolerance ?? 0 }

  // MARK: The lock of a timer

  /// Calls `body` under the lock that guards the timer's date: of its loop, if it is in one, and else of the item. The
  /// caller holds the timer.
  @inline(__always)
  func withDueLocked<Result>(_ body: (Loop?) -> Result) -> Result {
    if let loop = lockOnlyLoop() {
      defer { loop.unlock() }
      return body(loop)
    }
    return withItemLocked(body)
  }

  /// For a timer that is in a loop by its own cell: locks that loop, which is enough, since that membership does not end
  /// without it. Nil for any other.
  @inline(__always)
  private func lockOnlyLoop() -> Loop? {
    guard let mode, let loop = mode.loop else { return nil }
    loop.lock()
    // The timer, or what its mode's slot means, may have changed meanwhile.
    if isIn(mode) && mode.isOf(loop) { return loop }
    loop.unlock()
    return nil
  }

  /// Under the item's lock none of the memberships begins, and those of aliases do not end.
  @inline(never)
  private func withItemLocked<Result>(_ body: (Loop?) -> Result) -> Result {
    lock()
    defer { unlock() }
    let loop = anyMembership()?.mode.loop
    loop?.lock()
    defer { loop?.unlock() }
    return body(loop)
  }

  // MARK: Dates

  /// The date as it was asked for (TMR-2); 0 when invalid (TMR-4).
  package func nextFire() -> Int64 {
    let date = withDueLocked { _ in due.pointee.date }
    return isValid ? date : 0
  }

  package func currentTolerance() -> Int64 { withDueLocked { _ in tolerance } }

  /// Moves the timer that a client's handle means, and its grid (TMR-17).
  @inline(__always)
  package static func setNextFire(_ timer: UInt, _ date: Int64) throws(Failure) -> Int32 {
    let handle = Handle(bits: timer)
    if let memory = Slab(.timer).locate(handle), Item(.timer, handle.slot, memory).postponeInPlace(handle, date) {
      return Status.ok
    }
    let item = try hold(.timer, timer, "timer")
    defer { item.letGo() }
    return item.setNextFire(date)
  }

  /// For a timer of one membership that lies in the wheel, and is moved to a later date. It is not held: what is in a mode
  /// lives while the lock of its loop is held, and so does not change its generation.
  @inline(__always)
  private func postponeInPlace(_ handle: Handle, _ date: Int64) -> Bool {
    guard let loop = lockOnlyLoop() else { return false }
    defer { loop.unlock() }
    return generation == handle.generation && isValid && !hasNote(Note.aliased) && !hasState(State.running)
      && mode?.postpone(self, to: date) == true
  }

  package func setNextFire(_ date: Int64) -> Int32 {
    if !isValid { return Status.ignored }
    let loop = withDueLocked { loop -> Loop? in
      if hasState(State.running) {
        due.pointee.date = date
        setState(State.rescheduled)
      } else {
        forEachScheduled { mode, member in mode.unschedule(member) }
        due.pointee.date = date
        forEachScheduled { mode, member in mode.schedule(member, of: self) }
      }
      return loop
    }
    if let loop, !loop.isCurrent { loop.interruptSleep() }
    return Status.ok
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
          if mode.state.pointee.queue?.pointee.reserve(tolerant: true) == false { hasRoom = false }
        }
        if !hasRoom { return nil }
      }
      forEachScheduled { mode, member in mode.unschedule(member) }
      context.pointee.tolerance = limited
      if limited > 0 { setState(State.tolerant) } else { setState(0, clear: State.tolerant) }
      forEachScheduled { mode, member in mode.schedule(member, of: self) }
      return loop
    }
    if !hasRoom { throw Failure.noMemory("tolerance_ns") }
    if let loop, !loop.isCurrent { loop.interruptSleep() }
    return Status.ok
  }

  // MARK: A callback

  /// A callback begins; false when the timer is invalid, or its callback runs already. The lock of the date is held.
  /// `isCollected`: the loop calls it, and has taken it out of its only queue.
  @inline(__always)
  func beginFiring(isCollected: Bool) -> Bool {
    if hasState(State.running) || !isValid { return false }
    setState(State.running)
    if !isCollected || hasNote(Note.aliased) { forEachScheduled { mode, member in mode.rest(member) } }
    return true
  }

  /// The callback of a timer that goes on has returned: at rest and queued again in one step, so that a date set by another
  /// thread either is seen here or moves the queued timer. A repeating timer takes the first date of its grid that is later
  /// than now, all missed ones dropped; a date set meanwhile wins (TMR-16, TMR-17). The lock of the date is held.
  @inline(__always)
  func endFiring(takesNextDate: Bool) {
    let wasRescheduled = hasState(State.rescheduled)
    setState(0, clear: State.running | State.rescheduled)
    if !isValid { return forEachScheduled { mode, member in mode.restIfNowhere(member) } }
    if takesNextDate && !wasRescheduled { due.pointee.date = dateAfter(Clock.now()) }
    forEachScheduled { mode, member in
      mode.unschedule(member)
      mode.schedule(member, of: self)
    }
  }

  /// The grid's first date later than `now`, by division: a microsecond timer after a day's pause takes no longer.
  private func dateAfter(_ now: Int64) -> Int64 {
    let date = due.pointee.date
    let step = max(interval, 1)
    if date > now { return Clock.after(step, from: date) }
    // Dates far in the past: the distance may not fit a signed number, but always an unsigned one.
    let missed = UInt64(bitPattern: now &- date) / UInt64(step)
    let last = date &+ Int64(bitPattern: missed &* UInt64(step))
    return Clock.after(step, from: last)
  }

  /// The info is kept for the length of a callback, whatever becomes of the timer (TMR-7). Without a retain there is nothing
  /// to give back afterwards.
  @inline(__always)
  func retainForCall() {
    if let context { _ = context.pointee.retain?(cell.pointee.info) }
  }
  @inline(__always)
  func releaseAfterCall() {
    guard let context, context.pointee.retain != nil else { return }
    context.pointee.release?(cell.pointee.info)
  }
}
