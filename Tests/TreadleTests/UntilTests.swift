// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing
import TestSupport
import Treadle

/// Running until a date, or until an input came.
@Suite("Running until")
struct UntilTests {
  @Test("NSR-1 NSR-4: a run returns after an input source or at its limit; timers do not end it; false when it is empty")
  func beforeLimit() throws {
    try onThread {
      let loop = try RunLoop.current()
      let log = Log()
      #expect(try !loop.run(in: "until", before: .distantFuture), "unknown")
      let source = try RunLoopSource { _ in }
      try loop.add(source, to: "until")
      #expect(try loop.run(in: "until", before: .distantPast), "one pass")
      source.signal()
      #expect(try loop.run(in: "until", before: .distantFuture) && !source.isSignalled)
      let fired = Log()
      let timer = try RunLoopTimer(after: .zero, repeating: .microseconds(50)) { timer in
        fired.add("")
        if fired.all.count == 5 { source.signal() }
      }
      try loop.add(timer, to: "until")
      #expect(try loop.run(in: "until", before: .distantFuture) && fired.all.count >= 5)
      timer.invalidate()
      source.signal()
      try loop.acceptInput(in: "until", before: .distantFuture)
      #expect(!source.isSignalled)
      source.invalidate()
      #expect(try !loop.run(in: "until", before: .distantFuture), "empty")
      try onThread { log.add("\(try loop.run(in: "until", before: .distantPast))") }
      #expect(log.all == ["false"], "another thread's")
    }
  }

  @Test("NSR-1: what became empty in the run was not empty before")
  func becomesEmpty() throws {
    try onThread {
      let loop = try RunLoop.current()
      try RunLoopTimer.scheduled(every: .zero, repeats: false) { _ in }
      #expect(try loop.run(before: .distantFuture))
      #expect(try !loop.run(before: .distantFuture))
    }
  }

  @Test("NSR-2 NSR-3: until a date, or until nothing is left; a stop does not end it")
  func untilDate() throws {
    try onThread {
      let loop = try RunLoop.current()
      let source = try RunLoopSource { _ in }.start()
      let limit = RunLoopInstant.now + .milliseconds(2)
      try loop.run(until: limit)
      #expect(RunLoopInstant.now >= limit)
      let passes = loop.counters.passes
      try loop.run(until: .distantPast)
      #expect(loop.counters.passes == passes + 1, "at least one pass")
      let count = Log()
      try RunLoopTimer(after: .zero, repeating: .microseconds(100)) { timer in
        count.add("")
        loop.stop()
        if count.all.count == 5 {
          timer.invalidate()
          source.invalidate()
        }
      }.start()
      try loop.run(until: .distantFuture)
      #expect(count.all.count == 5)
    }
  }

  @Test("NSR-3 STOP-9: a stop of all levels ends it inside of another run; stops of one level do not")
  func stopOfAllLevels() throws {
    try onThread {
      let loop = try RunLoop.current(), log = Log()
      let source = try RunLoopSource { _ in }.start()
      try RunLoopTimer.scheduled(every: .zero, repeats: false) { _ in
        loop.requestStop()
        try? RunLoopTimer.scheduled(every: .zero, repeats: false) { _ in
          loop.requestStop()
          try? loop.post {
            log.add("after two stops of one level")
            loop.requestStop(allLevels: true)
          }
        }
        try? loop.run(until: .distantFuture)
        log.add("the inner run has ended")
      }
      #expect(try loop.run() == .stopped)
      #expect(log.all == ["after two stops of one level", "the inner run has ended"])
      try loop.run(until: .distantPast)
      source.invalidate()
    }
  }

  @Test("NSR-3 THR-18: the stop of its thread ends it")
  func stopOfTheThread() throws {
    let log = Log()
    let thread = try RunLoopThread {
      let loop = try RunLoop.current()
      let source = try RunLoopSource { _ in }.start()
      try loop.run(until: .distantFuture)
      source.invalidate()
      log.add("ended")
    }
    try thread.startAndWait(timeout: patience)
    try thread.stopAndJoin(timeout: patience)
    #expect(log.all == ["ended"])
  }

  @Test("NSR-5 NSR-7: the limit date, after a pass; the mode that is run")
  func limitDate() throws {
    try onThread {
      let loop = try RunLoop.current(), log = Log()
      #expect(try loop.limitDate() == nil && loop.currentMode == nil)
      let source = try RunLoopSource { _ in log.add("performed in \(loop.currentMode.map { "\($0)" } ?? "nothing")") }.start()
      source.signal()
      #expect(try loop.limitDate() == .distantFuture)
      #expect(log.all == ["performed in \(RunLoopMode.default)"])
      let date = RunLoopInstant.now + .seconds(3600)
      let timer = try RunLoopTimer(at: date) { _ in }.start()
      #expect(try loop.limitDate() == date)
      try onThread { log.add("\(try loop.limitDate() == nil)") }
      #expect(log.all.last == "true")
      timer.invalidate()
      source.invalidate()
    }
  }

  @Test("NSR-6: a post without a wake waits for the next pass")
  func postWithoutWake() throws {
    try onThread {
      let loop = try RunLoop.current(), log = Log()
      let observer = try RunLoopObserver(of: .beforeWaiting, once: true) { _, _ in
        try loop.post(wakes: false) { log.add("posted") }
        // Not before: the first pass would fire it, and the run would end without a wait.
        try RunLoopTimer(after: .milliseconds(1)) { _ in
          log.add("slept")
          loop.stop()
        }.start()
      }.start()
      let source = try RunLoopSource { _ in }.start()
      #expect(try loop.run(for: patience) == .stopped)
      try loop.run(for: .zero)
      #expect(log.all == ["slept", "posted"])
      observer.invalidate()
      source.invalidate()
    }
  }
}
