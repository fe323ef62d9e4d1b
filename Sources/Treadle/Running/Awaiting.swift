// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Waiting for a loop's answer without sleeping, the other half of `Spinning`: whoever has a loop perform something
/// and waits for it looks for the answer a few microseconds long, if that loop answered from another processor the
/// last time. A wait in vain halves the next one, down to none; an answer that comes soon after the sleep began brings
/// back the longest. What is kept for this is a guess that all callers of the loop share, so nothing depends on its order.
extension Loop {
  // Nanoseconds.
  private static let longest: Int32 = 20_000
  private static let shortest: Int32 = 1_000

  /// The owner is about to answer somebody who waits.
  func noteAnswer() {
    let number = Loop.callerNumber
    if state.pointee.answerer.load(ordering: .relaxed) != number {
      state.pointee.answerer.store(number, ordering: .relaxed)
    }
  }

  /// True as soon as the answer is there; false if the caller has to sleep, or may wait no longer.
  @inline(__always)
  func spin(until isThere: () -> Bool, limit: Int64 = Clock.forever) -> Bool {
    let answerer = state.pointee.answerer.load(ordering: .relaxed)
    let guess = state.pointee.answerBudget.load(ordering: .relaxed)
    if answerer == 0 || guess < 0 || answerer == Loop.callerNumber { return false }
    let budget = guess == 0 ? Loop.longest : guess
    // An answer that comes at once is not kept waiting by a pause, nor by a look at the clock.
    for _ in 0..<Loop.shortLooks {
      if isThere() {
        if guess != 0 { state.pointee.answerBudget.store(0, ordering: .relaxed) }
        return true
      }
      treadle_system_breathe()
    }
    let until = min(Clock.after(Int64(budget), from: Clock.now()), limit)
    repeat {
      for _ in 0..<8 {
        if isThere() {
          if guess != 0 { state.pointee.answerBudget.store(0, ordering: .relaxed) }
          return true
        }
        treadle_system_pause()
      }
    } while Clock.now() < until
    state.pointee.answerBudget.store(budget / 2 < Loop.shortest ? -1 : budget / 2, ordering: .relaxed)
    return false
  }

  /// When a sleep begins that may tell whether waits are to be longer again; 0 if they are not shorter.
  func sleepBegins() -> Int64 { state.pointee.answerBudget.load(ordering: .relaxed) == 0 ? 0 : Clock.now() }

  func sleepEnded(since start: Int64) {
    if start != 0 && Clock.now() &- start < Loop.shortSleep { state.pointee.answerBudget.store(0, ordering: .relaxed) }
  }
}
