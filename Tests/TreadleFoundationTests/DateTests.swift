// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Foundation
import TestSupport
import Testing
import Treadle
import TreadleFoundation

/// Dates of the calendar, and seconds.
@Suite("Dates of Foundation")
struct DateTests {
  @Test("seconds are durations, whatever they are")
  func seconds() {
    #expect(Duration(interval: 1.5) == .milliseconds(1500) && Duration(interval: -0.25) == .milliseconds(-250))
    #expect(Duration(interval: 0.1) == .milliseconds(100) && Duration(interval: .nan) == .zero)
    #expect(Duration(interval: .infinity) == .nanoseconds(Int64.max) && Duration(interval: -1e300) == .nanoseconds(Int64.min))
    #expect(Duration.milliseconds(1500).interval == 1.5)
  }

  @Test("RUN-14: dates go there and back")
  func dates() {
    let date = Date(timeIntervalSinceNow: 1000)
    let instant = RunLoopInstant(date)
    #expect(instant > RunLoopInstant.now + .seconds(900) && instant < RunLoopInstant.now + .seconds(1100))
    #expect(abs(Date(instant).timeIntervalSince(date)) < 100)
    #expect(RunLoopInstant(Date.distantFuture) == .distantFuture && Date(RunLoopInstant.distantFuture) == .distantFuture)
    #expect(RunLoopInstant(Date.distantPast) < .now && Date(RunLoopInstant.distantPast) == .distantPast)
  }

  @Test("TMR-24: timers on the wall clock have its dates, and fire when it shows them")
  func wallClock() async throws {
    try await onThread {
      let loop = try TreadleRunLoop.current(), log = Log()
      let date = Date(timeIntervalSinceNow: 0.01), far = Date(timeIntervalSinceNow: 1e6)
      let timer = try RunLoopTimer(onWallClockAt: date, repeating: 3600, label: "hourly") { timer in
        log.add("\(Date() >= date)")
        timer.wallClockFireDate = far
        loop.stop()
      }.start()
      #expect(abs(try #require(timer.wallClockFireDate).timeIntervalSince(date)) < 0.001)
      #expect(try loop.run(for: patience) == .stopped)
      #expect(abs(try #require(timer.wallClockFireDate).timeIntervalSince(far)) < 0.001 && timer.interval == .seconds(3600))
      timer.wallClockFireDate = nil
      #expect(timer.wallClockFireDate == nil)
      timer.wallClockFireDate = Date(timeIntervalSinceNow: -1)
      #expect(try loop.run(for: patience) == .stopped)
      timer.invalidate()
      let never = try RunLoopTimer(onWallClockAt: .distantFuture, endsAfterFiring: true) { _ in log.add("never") }.start()
      try RunLoopTimer(onWallClockAt: .distantPast, endsAfterFiring: true) { _ in log.add("past") }.start()
      #expect(try loop.run(for: .zero) == .timedOut)
      never.invalidate()
      #expect(log.all == ["true", "true", "past"])
    }
  }

  @Test("NST-1 NST-4 NSR-1 NSR-2: timers on dates of the calendar, and runs until one")
  func timers() async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      do {
        try RunLoopThread.detachNew { done.resume(with: Result { try body() }) }
      } catch { done.resume(throwing: error) }
    }
    @Sendable func body() throws {
      let loop = try TreadleRunLoop.current(), log = Log()
      let past = try RunLoopTimer(at: Date(timeIntervalSinceNow: -1)) { _ in log.add("past") }.start()
      let far = try RunLoopTimer(at: Date.distantFuture, label: "far") { _ in log.add("never") }.start()
      let soon = Date(timeIntervalSinceNow: 0.01)
      let timer = try RunLoopTimer(at: soon, repeating: 0.001, tolerance: 0.0001) { timer in
        log.add(soon.timeIntervalSinceNow < 0.001 ? "soon" : "early")
        timer.invalidate()
      }.start()
      try RunLoopTimer.scheduled(withTimeInterval: -1, repeats: false) { _ in log.add("scheduled") }
      #expect(past.isValid && timer.interval == .milliseconds(1))
      #expect(try #require(timer.fireDate).timeIntervalSinceNow < 0.02)
      try loop.run(until: Date(timeIntervalSinceNow: 0.05))
      #expect(log.all.sorted() == ["past", "scheduled", "soon"])
      far.fireDate = nil
      #expect(far.fireDate == nil)
      far.invalidate()
      #expect(try !loop.run(before: Date(timeIntervalSinceNow: 1000)))
      try RunLoopSource { _ in log.add("source") }.start().signal()
      #expect(try loop.run(before: Date(timeIntervalSinceNow: 1000)))
      try loop.acceptInput(before: Date.distantPast)
      #expect(log.all.last == "source")
    }
  }
}
