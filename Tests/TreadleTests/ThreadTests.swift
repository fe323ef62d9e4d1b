// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

/// Threads as a Swift client makes them: their beginning and their end.
@Suite("Threads")
struct ThreadTests {
  @Test("THR-1 THR-2 THR-8 THR-17: a thread is created, executes and has finished, each once")
  func states() throws {
    let began = Signal(), go = Signal()
    let thread = try RunLoopThread {
      began.signal()
      try go.wait()
    }
    #expect(!thread.isExecuting && !thread.isFinished && !thread.isCancelled && !thread.isDetached)
    #expect(status { try thread.join() } == .state, "not started")
    try thread.start()
    try began.wait()
    #expect(thread.isExecuting && !thread.isFinished)
    #expect(status { try thread.start() } == .state)
    #expect(status { try thread.join(timeout: .zero) } == .timeout)
    go.signal()
    try thread.join(timeout: patience)
    #expect(thread.isFinished && !thread.isExecuting && !thread.isCancelled)
    #expect(status { try thread.join() } == .state, "joined before")
    #expect(status { try thread.start() } == .state)
  }

  @Test("THR-3 THR-17: a detached thread needs no object and no join")
  func detached() throws {
    let began = Signal(), ended = Signal(), go = Signal()
    try RunLoopThread.detachNew { ended.signal() }
    try ended.wait()
    let thread = try RunLoopThread.detachNew {
      began.signal()
      try go.wait()
    }
    try began.wait()
    #expect(thread.isDetached)
    #expect(status { try thread.join() } == .state)
    #expect(status { try thread.detach() } == .state)
    go.signal()
  }

  @Test("THR-17: a thread may be detached later, once, and a thread does not join itself")
  func wrongJoins() throws {
    let own = Log(), go = Signal()
    let thread = try RunLoopThread { try go.wait() }
    try thread.start()
    try thread.detach()
    #expect(thread.isDetached)
    #expect(status { try thread.detach() } == .state)
    #expect(status { try thread.stopAndJoin() } == .state)
    go.signal()

    try onThread { own.add("\(status { try RunLoopThread.current().join() } == .deadlock)") }
    #expect(own.all == ["true"])
  }

  /// A thread whose body holds an object, and waits.
  private func makeThread(holding gone: Signal, _ go: Signal) throws -> RunLoopThread {
    let tracked = Tracked(gone)
    return try RunLoopThread {
      try go.wait()
      tracked.use()
    }
  }

  @Test("THR-4: a body is kept until it has returned, or is sure never to be called")
  func bodies() throws {
    let gone = Signal(), go = Signal()
    try makeThread(holding: gone, go).start()
    #expect(!gone.isSignalled)
    go.signal()
    try gone.wait()

    _ = try makeThread(holding: gone, go)
    #expect(gone.isSignalled, "never started")
    let cancelled = try makeThread(holding: gone, go)
    cancelled.cancel()
    try cancelled.start()
    #expect(gone.isSignalled, "cancelled before")
    #expect(throws: TreadleError.self) {
      let tracked = Tracked(gone)
      _ = try RunLoopThread(stackSize: 1) { tracked.use() }
    }
    #expect(gone.isSignalled, "refused")
  }

  @Test("THR-5 THR-6: a cancelled thread knows it, and one cancelled before its start never runs")
  func cancelled() throws {
    let began = Signal(), go = Signal(), log = Log()
    let thread = try RunLoopThread {
      began.signal()
      try go.wait()
      log.add("\(try RunLoopThread.current().isCancelled)")
    }
    try thread.start()
    try began.wait()
    thread.cancel()
    thread.cancel()
    #expect(thread.isCancelled && thread.isExecuting)
    go.signal()
    try thread.join(timeout: patience)
    #expect(log.all == ["true"])

    let never = try RunLoopThread { log.add("ran") }
    never.cancel()
    #expect(status { try never.startAndWait() } == .state)
    #expect(never.isFinished)
    try never.join()
    #expect(log.all == ["true"])
  }

  @Test("THR-18: a start that waits until the thread is ready")
  func readiness() throws {
    let go = Signal()
    let declared = try RunLoopThread {
      RunLoopThread.declareReady()
      RunLoopThread.declareReady()
      try go.wait()
    }
    try declared.startAndWait(timeout: patience)
    go.signal()
    try declared.join(timeout: patience)

    try withLoopThread { #expect($0.isExecuting, "the first pass of its loop is as good") }

    let ended = try RunLoopThread {}
    #expect(status { try ended.startAndWait(timeout: patience) } == .state)
    try ended.join(timeout: patience)

    let late = try RunLoopThread { try go.wait() }
    #expect(status { try late.startAndWait(timeout: .zero) } == .timeout)
    go.signal()
    try late.join(timeout: patience)
  }
}
