// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Waiting without sleeping. To wake a thread that sleeps on another processor takes twenty times as long as
/// most callbacks, so a loop that was just called from there looks for the next call a few microseconds long
/// before it sleeps.
///
/// It does so only if the last call came from another processor: a caller on this one could not run
/// meanwhile, and a loop that nobody calls sleeps at once. Each call pays for one such wait at most. A wait
/// in vain halves the next one, down to none; a call that comes soon after the sleep began brings back the longest.
///
/// Soon is longer than what two threads sleep that both have to be woken each time. Otherwise one that has lost its
/// processor for a moment would leave both asleep for good, each too late for the other's wait.
extension Loop {
  // Nanoseconds.
  private static let longestSpin: Int64 = 20_000
  private static let shortestSpin: Int64 = 1_000
  static let shortSleep: Int64 = 250_000
  /// How many looks begin a wait, a few nanoseconds apart: a pause takes longer than some answers.
  static let shortLooks = 48

  /// The calling thread's processor, as in `LoopState.caller`.
  @inline(__always)
  static var callerNumber: UInt32 { UInt32(truncatingIfNeeded: treadle_system_processor() &+ 1) }

  /// Another thread queued something; the first to do so since the owner took what there was also leaves its
  /// number. The gate is held.
  @inline(__always)
  func noteCaller() {
    if state.pointee.isCalledFromOutside { return }
    state.pointee.isCalledFromOutside = true
    state.pointee.caller.store(Loop.callerNumber, ordering: .relaxed)
  }

  /// True if a wake-up or the end of the run came while the loop spun; false if it has to sleep. Owner.
  func spin(_ mode: Mode, until deadline: Int64, awaited: CarriedCall?) -> Bool {
    // What comes from now on does not come because this loop was too quick; callers that do not wait for it
    // are another matter.
    if !state.pointee.isOverrun { state.pointee.isChasing = false }
    let caller = state.pointee.caller.load(ordering: .relaxed)
    if caller == 0 { return false }
    state.pointee.caller.store(0, ordering: .relaxed)
    let isElsewhere = caller != Loop.callerNumber
    if !isElsewhere || state.pointee.spinBudget < 0 { return false }
    return isWokenSoon(min(deadline, mode.earliestDate), awaited)
  }

  private func isWokenSoon(_ latest: Int64, _ awaited: CarriedCall?) -> Bool {
    let budget = state.pointee.spinBudget == 0 ? Loop.longestSpin : state.pointee.spinBudget
    let changes = state.pointee.changes.load(ordering: .acquiring)
    for _ in 0..<Loop.shortLooks {
      if state.pointee.wakePending.load(ordering: .acquiring) != 0 {
        state.pointee.spinBudget = min(budget &* 2, Loop.longestSpin)
        return true
      }
      treadle_system_breathe()
    }
    let until = min(Clock.after(budget, from: Clock.now()), latest)
    repeat {
      for _ in 0..<8 {
        if state.pointee.wakePending.load(ordering: .acquiring) != 0 || isEndAsked(awaited) {
          state.pointee.spinBudget = min(budget &* 2, Loop.longestSpin)
          return true
        }
        treadle_system_pause()
      }
      if state.pointee.changes.load(ordering: .acquiring) != changes { return false }
    } while Clock.now() < until
    state.pointee.spinBudget = budget / 2 < Loop.shortestSpin ? -1 : budget / 2
    return false
  }

  /// When a sleep begins that may tell whether waits are to be longer again; 0 if they are not shorter. Owner.
  @inline(__always)
  func sleepMayTell() -> Int64 { state.pointee.spinBudget == 0 ? 0 : Clock.now() }

  /// A sleep ended after a time in which a caller that had to be woken itself may have answered: the next wait
  /// is as long as possible. Owner.
  @inline(__always)
  func noteSleep(since start: Int64) {
    if start != 0 && Clock.now() &- start < Loop.shortSleep { state.pointee.spinBudget = 0 }
  }
}
