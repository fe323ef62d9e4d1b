// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing
import Treadle

/// Timers as NSTimer has them.
@Suite("Scheduled timers")
struct ScheduledTimerTests {
  @Test("NST-1 NST-2 NST-5: a scheduled timer is in the default mode, which keeps it")
  func scheduled() throws {
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let before = RunLoopInstant.now
      let once = try RunLoopTimer.scheduled(every: .seconds(-3), repeats: false) { _ in log.add("once") }
      log.add("\(loop.contains(once)) \(once.repeats) \(once.interval == .zero)")
      log.add("\(once.nextFire ?? before >= before + .microseconds(100))")
      try RunLoopTimer.scheduled(every: .zero) { _ in
        log.add("again")
        if log.all.count >= 5 { loop.stop() }
      }
      let often = try RunLoopTimer.scheduled(every: .seconds(1000)) { _ in }
      log.add("\(often.repeats) \(often.interval == .seconds(1000))")
      often.invalidate()
      while once.isValid { try loop.run(for: patience) }
      log.add("\(once.isValid)")
    }
    let all = log.all
    #expect(all.prefix(3) == ["true false true", "true", "true true"])
    #expect(all.filter { $0 == "once" }.count == 1 && all.last == "false")
    #expect(all.filter { $0 == "again" }.count >= 1)
  }

  @Test("RUN-14 TMR-22: a timer's callback is told a time that is not before its date")
  func recent() throws {
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let before = RunLoopInstant.now
      let timer = try RunLoopTimer.scheduled(every: .zero, repeats: false) { _ in log.add("\(RunLoop.recent <= RunLoopInstant.now)") }
      let date = timer.nextFire
      while timer.isValid { try loop.run(for: patience) }
      log.add("\(RunLoop.recent >= before && RunLoop.recent >= date ?? .distantFuture)")
    }
    #expect(log.all == ["true", "true"])
  }

  @Test("TMR-24: a one-shot is armed again, also in its own callback, until nobody refers to it")
  func again() throws {
    let gone = Signal()
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      func make() throws -> RunLoopTimer {
        let tracked = Tracked(gone)
        return try RunLoopTimer(after: .zero) { _ in
          tracked.use()
          log.add("fires")
        }
      }
      var timer: RunLoopTimer? = try make()
      if let timer {
        try loop.add(timer)
        for _ in 0..<3 {
          log.add("\(try loop.run(for: patience) == .finished) \(timer.nextFire == nil) \(timer.isValid) \(timer.arm(after: .zero))")
        }
        timer.disarm()
        log.add("\(timer.nextFire == nil) \(loop.contains(timer)) \(try loop.run(for: patience) == .finished) \(gone.isSignalled)")
      }
      timer = nil
      log.add("\(gone.isSignalled)")
    }
    let round = ["fires", "true true true true"]
    #expect(log.all == round + round + round + ["true true true false", "true"])
  }

  @Test("NST-4 TMR-5: dates and tolerances, and an end that releases what the timer held")
  func invalidation() throws {
    let gone = Signal()
    func makeTimer() throws -> RunLoopTimer {
      let tracked = Tracked(gone)
      return try RunLoopTimer(after: .seconds(1000), repeating: .seconds(10)) { _ in tracked.use() }
    }
    let timer = try makeTimer()
    try timer.setTolerance(.seconds(3))
    #expect(timer.tolerance == .seconds(3))
    try timer.setTolerance(.seconds(30))
    #expect(timer.tolerance == .seconds(5))
    try timer.setTolerance(.seconds(-30))
    #expect(timer.tolerance == .zero)
    timer.nextFire = RunLoopInstant(nanoseconds: 5)
    #expect(timer.nextFire?.nanoseconds == 5 && !gone.isSignalled)
    try onThread { timer.invalidate() }
    #expect(gone.isSignalled && timer.nextFire == nil && timer.interval == .seconds(10))
  }
}
