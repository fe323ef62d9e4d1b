// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

/// What things print, and the dates of Swift's clocks.
@Suite("Descriptions and dates")
struct DescriptionTests {
  @Test("RL-12: everything prints what it is")
  func descriptions() throws {
    try onThread {
      let loop = try RunLoop.current()
      let scope = try RunLoopScope(label: "document")
      _ = try RunLoopSource(label: "bell", scope: scope) { _ in }
      let timer = try RunLoopTimer(after: .seconds(60), label: "save", scope: scope) { _ in }
      #expect("\(scope)" == "RunLoopScope(“document”, open, 1 inside)")
      #expect("\(timer)".contains("save") && "\(loop)".contains("thread"))
      try scope.close(timeout: patience)
      #expect("\(scope)" == "RunLoopScope(“document”, closed, 0 inside)" && scope.label == "document")
      #expect("\(RunLoopReadiness.readable)" == "[readable]" && "\([RunLoopReadiness.hangup, .writable] as RunLoopReadiness)" == "[writable, hangup]")
      #expect("\(RunLoopActivity([.entry, .exit]))" == "[entry, exit]" && "\(RunLoopActivity())" == "[]")
      #expect("\(RunLoopClosure.Options.keepsCode)" == "[keepsCode]" && "\(RunLoopClosure.Delivery.inline)" == "inline")
      #expect("\(RunLoopMode.default)" == RunLoopMode.default.name && "\(RunLoopResult.timedOut)" == "timedOut")
      #expect("\(loop.counters)".hasPrefix("0 passes"))
      let lock = try RunLoopLock(), condition = try RunLoopCondition()
      #expect("\(lock)".hasPrefix("RunLoopLock(0x") && "\(condition)".hasPrefix("RunLoopCondition(0x"))
      let notification = try RunLoopNotification(.threadWillExit) { _ in }
      #expect("\(notification)".hasPrefix("RunLoopNotification(threadWillExit, "))
      let request = try #require(try RunLoop.perform(after: .seconds(60)) {})
      #expect("\(request)".hasPrefix("RunLoopRequest("))
      request.cancel()
      let executor = try loop.executor
      #expect("\(executor)".hasPrefix("LoopExecutor(the common modes, thread "))
      let ticks = try loop.ticks(after: .seconds(60), label: "clock"), signals = try loop.signals(label: "knock")
      #expect("\(ticks)".contains("clock") && "\(signals)".contains("knock") && "\(signals.received)".contains("knock"))
      ticks.end()
      let labs = try RunLoopFunction(named: "labs")
      #expect("\(labs)".hasPrefix("RunLoopFunction(0x"))
    }
  }

  @Test("RL-12, OBJ-3: a loop gives its items, and tells of them by their labels")
  func itemsAndLabels() throws {
    let loop = try RunLoop.current()
    let source = try RunLoopSource(order: 4, label: "bell") { _ in }
    let timer = try RunLoopTimer(after: .seconds(3600), label: "tick") { _ in }
    try loop.add(source, to: "listed")
    try loop.add(timer, to: "listed")
    try loop.add(source, to: "another")
    #expect(try loop.items(in: "listed") == [source, timer] && loop.items(in: "listed").last is RunLoopTimer)
    #expect(try loop.items().count == 2 && loop.items(in: "unknown").isEmpty)
    #expect(source.description.hasPrefix("source \"bell\" 0x") && source.description.contains("in mode \"listed\""))
    #expect(loop.description.contains("mode \"listed\"\n    source \"bell\""))
    #expect(throws: TreadleError.self) { try RunLoopSource(label: String(repeating: "x", count: 256)) { _ in } }
    #expect(try loop.run(in: "nowhere") == .finished && loop.counters.lastFinish == .unknownMode)
    source.signal()
    let before = loop.counters
    #expect(try loop.run(in: "listed", for: .zero) == .timedOut)
    #expect(loop.counters.signals == before.signals + 1 && loop.counters.passes == before.passes + 1)
    for item in try loop.items() { item.invalidate() }
    #expect(!source.isValid && !timer.isValid)
  }

  @Test("ABI-4: every status of the library has a code with its name")
  func codes() {
    let codes: [TreadleError.Code] = [
      .argument, .stale, .kind, .noMemory, .state, .exists, .notFound, .wrongThread, .deadlock, .timeout, .forked, .tooNew, .system,
      .callback, .closed, .range, .signature, .notSupported, .cancelled, .plugin, .noReply,
    ]
    let known = (-100 ... -1).reversed().map { TreadleError.Code(rawValue: $0) }.filter { $0.description != "unknown" }
    #expect(known == codes)
    #expect("\(TreadleError.Code.plugin)" == "TREADLE_E_PLUGIN" && "\(TreadleError.Code.noReply)" == "TREADLE_E_NO_REPLY")
  }

  @Test("RUN-14: dates are those of the suspending clock, exactly, and of the continuous one as long as the system is awake")
  func dates() {
    let earlier = SuspendingClock.now, date = RunLoopInstant.now, later = SuspendingClock.now
    #expect(RunLoopInstant(earlier) <= date && date <= RunLoopInstant(later))
    #expect(RunLoopInstant(SuspendingClock.Instant(date)) == date)
    #expect(SuspendingClock.Instant(date + .seconds(3)) - SuspendingClock.Instant(date) == .seconds(3))
    let there = ContinuousClock.Instant(date + .seconds(1000))
    let back = RunLoopInstant(there) - date
    // Both ways read two clocks, one after the other.
    #expect(back > .seconds(900) && back < .seconds(1100))
    #expect("\(RunLoopInstant(nanoseconds: 1_500_000_000))" == "RunLoopInstant(1.5 seconds)")
    #expect("\(RunLoopInstant.distantFuture)" == "distant future" && "\(RunLoopInstant.distantPast)" == "distant past")
    #expect(RunLoopInstant.distantPast.duration(to: .distantFuture) > .seconds(1) && RunLoopInstant.distantFuture + .seconds(1) == .distantFuture)
  }
}
