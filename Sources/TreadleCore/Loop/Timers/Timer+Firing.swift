// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The callback of a timer: its beginning, and what follows it.
extension Item {
  /// A callback begins; false when the timer is invalid, or its callback runs already. The lock of the date is held. No
  /// queue has the timer while it runs. `isCollected`: the loop calls it, and has taken it out of its only queue, where
  /// it lies again if it was moved before its turn.
  @inline(__always)
  func beginFiring(isCollected: Bool) -> Bool {
    if hasState(State.running) || !isValid { return false }
    setState(State.running)
    if !isCollected || hasNote(Note.aliased) || due.place != TimerQueue.Place.none {
      forEachScheduled { mode, member in mode.rest(member) }
    }
    return true
  }

  /// How a callback has come about that is over.
  enum Firing {
    case due
    /// The dates of a repeating timer are not touched (NST-3).
    case byHand
    /// It was not called after all.
    case withdrawn
  }

  /// A callback has returned: at rest and queued again in one step, so that a date set by another thread either is seen
  /// here or moves the queued timer. A repeating timer takes the first date of its grid that is later than now, all
  /// missed ones dropped, and a one-shot none; a date set meanwhile wins (TMR-16, TMR-17), unless the timer ends by
  /// firing (TMR-15). The lock of the date is held. False for a timer that is over: it is to be taken out of its modes.
  @inline(__always)
  func endFiring(_ firing: Firing) -> Bool {
    let isSet = hasState(State.rescheduled) && !hasTrait(Trait.ends)
    let date = isSet ? self.date : date(after: firing)
    setState(date == Clock.forever ? State.idle : 0, clear: State.running | State.rescheduled)
    if !isValid { return false }
    if date == Clock.forever && cell.reference.clear(Reference.Mark.valid, evenIfOwned: hasTrait(Trait.ends)) {
      return false
    }
    move(to: date)
    return true
  }

  /// The callback of a one-shot has returned, nobody has given it another date, and nobody refers to it but the mode
  /// that it is in: with the mode's reference the life ends, in one exchange. The caller, who has the lock of the date,
  /// takes it out of the mode, and gives it back. False with nothing changed.
  @inline(__always)
  func endOneShot() -> Bool {
    if !hasTrait(Trait.once) || hasState(State.rescheduled) || hasNote(Note.aliased) || !isPlain { return false }
    return cell.reference.endIfOnly(beside: Reference.Mark.valid | Reference.Mark.claimed)
  }

  @inline(__always)
  private func date(after firing: Firing) -> Int64 {
    switch firing {
    case .withdrawn: date
    case .byHand: repeats ? date : Clock.forever
    case .due: repeats ? dateAfter(hasTrait(Trait.wall) ? Clock.wall() : Clock.now()) : Clock.forever
    }
  }

  /// A timer that is over lies somewhere until it is taken out.
  func restEverywhere() { forEachScheduled { mode, member in mode.restIfNowhere(member) } }

  /// The grid's first date later than `now`, by division: a microsecond timer after a day's pause takes no longer.
  private func dateAfter(_ now: Int64) -> Int64 {
    let date = self.date
    let step = max(interval, 1)
    if date > now { return Clock.after(step, from: date) }
    // Dates far in the past: the distance may not fit a signed number, but always an unsigned one.
    let missed = UInt64(bitPattern: now &- date) / UInt64(step)
    let last = date &+ Int64(bitPattern: missed &* UInt64(step))
    return Clock.after(step, from: last)
  }

  /// The info is kept for the length of a callback, whatever becomes of the timer (TMR-7). Without a retain there is
  /// nothing to give back afterwards.
  @inline(__always)
  func retainForCall() {
    if let context { _ = context.pointee.retain?(cell.info) }
  }
  @inline(__always)
  func releaseAfterCall() {
    guard let context, context.pointee.retain != nil else { return }
    context.pointee.release?(cell.info)
  }

  /// What follows a callback, whichever loop has the timer, by however many memberships. No lock is held; the timer is
  /// held, or called.
  @inline(never)
  func settleFiring(_ firing: Firing) {
    var isOver = false
    let loop = withDueLocked { loop -> Loop? in
      isOver = !endFiring(firing)
      if isOver { restEverywhere() }
      return loop
    }
    if isOver { return leaveEverything() }
    if let loop, loop.isWaitedFor { loop.interruptSleep() }
  }
}

extension Loop {
  /// A callback has returned. The timer, if it is over, has left its mode by this, and the mode's reference is the
  /// caller's to drop. The lock is held.
  @inline(__always)
  func endTimer(_ item: Item) -> Item? {
    assertHeld()
    guard let mode = item.mode, mode.isOf(self) else {
      unlock()
      item.settleFiring(.due)
      lock()
      return nil
    }
    if item.endOneShot() {
      unlink(item, of: item, from: mode)
      item.giveBackPlain()
      return nil
    }
    if item.endFiring(.due) { return nil }
    if item.hasNote(Item.Note.aliased) {
      item.restEverywhere()
      unlock()
      item.leaveEverything()
      lock()
      return nil
    }
    unlink(item, of: item, from: mode)
    return item.endUnderLock() ? nil : item
  }
}
