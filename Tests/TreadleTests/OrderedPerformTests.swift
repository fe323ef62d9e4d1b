// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

private struct Wrong: Error {}

/// Bodies that a loop performs by their order.
@Suite("Ordered performs")
struct OrderedPerformTests {
  @Test("NSR-8 PERF-5 PERF-6: all in the next pass, in ascending order, equal ones in turn, before other sources, once")
  func order() throws {
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let source = try RunLoopSource(order: -1000) { _ in log.add("source") }
      try source.start().signal()
      for order in [3, -2, 3, Int.max, 0, Int.min] { try loop.perform(order: order) { log.add("\(order)") } }
      try loop.perform(order: 3) {
        log.add("3 again")
        try loop.perform(order: Int.min) { log.add("later") }
      }
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(log.all == ["\(Int.min)", "-2", "0", "3", "3", "3 again", "\(Int.max)", "source"])
      source.invalidate()
      #expect(try loop.run(returnAfterSource: true) == .handledSource)
      #expect(log.all.last == "later")
      #expect(try loop.run() == .finished && loop.items().isEmpty)
    }
  }

  @Test("NSR-8: each waits for one of its modes, and has left all of them before any is called")
  func modes() throws {
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let none = try loop.perform(order: 0, in: []) { log.add("never") }
      #expect(none == nil)
      try loop.perform(order: 2, in: ["a", "b"]) { log.add("a or b") }
      try loop.perform(order: 0, in: ["b"]) { log.add("b") }
      try loop.perform(order: 1, in: ["a", "a"]) {
        log.add("a")
        // The other one of this pass is called by it alone.
        let nested = try loop.run(in: "a", for: .zero)
        log.add("nested: \(nested)")
      }
      #expect(try loop.run() == .finished && log.all.isEmpty)
      #expect(try loop.run(in: "a", for: .zero, returnAfterSource: true) == .handledSource)
      #expect(log.all == ["a", "nested: finished", "a or b"])
      try loop.perform(order: -1) { log.add("common") }
      try loop.addCommonMode("b")
      #expect(try loop.run(in: "b", for: .zero, returnAfterSource: true) == .handledSource)
      #expect(log.all.suffix(2) == ["common", "b"])
      #expect(try loop.items().isEmpty)
    }
  }

  @Test("NSR-8: taken back one by one, or by their target, also in the pass that performs them")
  func cancelled() throws {
    let log = Log(), gone = Signal()
    try onThread {
      let loop = try RunLoop.current()
      func make(_ tracked: Tracked) throws -> RunLoopOrderedRequest {
        try #require(try loop.perform(order: 1, for: tracked) { tracked.use() })
      }
      let request = try make(Tracked(gone))
      #expect(request.isWaiting && !gone.isSignalled)
      #expect(request.cancel() && !request.cancel() && !request.isWaiting)
      #expect(gone.isSignalled, "released")
      let target = Log()
      for number in 0..<3 { try loop.perform(order: number, for: target) { log.add("\(number)") } }
      let last = try #require(try loop.perform(order: 4) { log.add("last") })
      try loop.perform(order: 0) {
        log.add("first")
        #expect(loop.cancelPerforms(for: target) && !loop.cancelPerforms(for: target))
        #expect(last.cancel())
      }
      #expect(!loop.cancelPerforms(for: log))
      #expect(try loop.run(for: .zero, returnAfterSource: true) == .handledSource)
      #expect(log.all == ["0", "first"])
      #expect(try loop.run() == .finished)
      #expect("\(last)".contains("order 4"))
    }
  }

  @Test("NSR-8: from another thread the loop is woken; errors go to the last resort, and the others are called")
  func fromElsewhere() async throws {
    await #expect(processExitsWith: .success) {
      let log = Log(), done = Signal()
      try RunLoopLastResort.setHandler { _, _, message in
        log.add(message)
        return true
      }
      let worker = try RunLoopThread.startWorker()
      let loop = try worker.loop
      while !loop.isWaiting {}
      try worker.perform(waitUntilDone: true) {
        try loop.perform(order: 1) { throw Wrong() }
        try loop.perform(order: 2) { log.add("then") }
        try loop.perform(order: 3) { done.signal() }
      }
      try done.wait()
      demand(log.all == ["Wrong()", "then"], "\(log.all)")
      try loop.perform(order: 1) { done.signal() }
      try done.wait()
    }
  }

  @Test("NSR-8: requests of many threads, of which half are taken back, are each called once or never")
  func manyThreads() throws {
    try withLoopThread { worker in
      let loop = try worker.loop, called = Tally(), cancelled = Tally()
      let threads = try (0..<4).map { _ in
        try RunLoopThread {
          for index in 0..<500 {
            let request = try loop.perform(order: index % 3) { called.add() }
            if index % 2 == 0, request?.cancel() == true { cancelled.add() }
          }
        }
      }
      for thread in threads { try thread.start() }
      for thread in threads { try thread.join(timeout: patience) }
      // Behind them all in its pass.
      let done = Signal()
      try loop.perform(order: .max) { done.signal() }
      try done.wait()
      #expect(called.count + cancelled.count == 2000 && called.count >= 1000)
    }
  }

  @Test("NSR-8 RL-8 SCOPE-2: what waits is dropped with the loop's thread, and with its scope")
  func dropped() throws {
    let gone = Signal()
    func fill(_ loop: RunLoop, _ scope: RunLoopScope) throws {
      let tracked = Tracked(gone)
      try scope.enter { _ = try loop.perform(order: 1, in: ["never"]) { tracked.use() } }
    }
    let thread = try RunLoopThread {}, scope = try RunLoopScope(), other = try RunLoopScope()
    let loop = try thread.loop
    try fill(loop, scope)
    try scope.close(timeout: patience)
    try gone.wait()
    #expect(status { try fill(loop, scope) } == .closed && gone.isSignalled)
    try fill(loop, other)
    let kept = try #require(try loop.perform(order: 1) {})
    try thread.start()
    try thread.join(timeout: patience)
    try gone.wait()
    #expect(!kept.isWaiting && !kept.cancel())
    #expect(status { try loop.perform(order: 1) {} } == .closed)
  }
}
