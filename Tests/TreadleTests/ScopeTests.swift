// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import TestSupport
import Treadle

/// Scopes: what is made inside of one ends with it.
@Suite("Scopes")
struct ScopeTests {
  private struct Wrong: Error {}

  /// One thing of each kind that a scope may hold, with a body that holds an object.
  private func makeEverything(holding tracked: Tracked, of thread: RunLoopThread) throws -> [RunLoopItem] {
    let items = [
      try RunLoopSource { _ in tracked.use() },
      try RunLoopTimer(after: .zero, repeating: .seconds(1)) { _ in tracked.use() },
      try RunLoopObserver { _, _ in tracked.use() },
      try RunLoopDescriptor(0) { _, _ in tracked.use() },
    ]
    for item in items { try item.start(in: "scoped") }
    try RunLoop.current().post(in: ["scoped"]) { tracked.use() }
    try RunLoop.perform(after: .seconds(3600)) { tracked.use() }
    try RunLoopPool.add { tracked.use() }
    try thread.perform { tracked.use() }
    return items
  }

  @Test("SCOPE-1 SCOPE-2: what is made inside belongs to the scope, and ends with it, whoever has references to it")
  func everything() throws {
    let gone = Signal()
    try onThread {
      let scope = try RunLoopScope(label: "plugin"), loop = try RunLoop.current()
      let worker = try scope.enter { try RunLoopThread.startWorker(name: "inside") }
      let idle = try RunLoopThread {}
      let items = try scope.enter { try self.makeEverything(holding: Tracked(gone), of: idle) }
      let notification = try scope.enter { try RunLoopNotification(.threadWillExit, of: idle) { _ in } }
      let outside = try RunLoopSource { _ in }
      #expect(scope.holders.count == 10 && scope.isValid)
      #expect(scope.holders.contains { $0.kind == "timer" } && scope.holders.contains { $0.kind == "request" })
      #expect(try scope.close(timeout: patience))
      #expect(!scope.isValid && scope.holders.isEmpty && outside.isValid)
      #expect(status { _ = try worker.loop } == .stale)
      #expect(items.allSatisfy { !$0.isValid })
      #expect(gone.isSignalled, "everything was released")
      #expect(try loop.run(in: "scoped") == .finished)
      #expect(status { try scope.enter {} } == .closed)
      #expect(status { _ = try RunLoopSource(scope: scope) { _ in } } == .closed)
      notification.remove()
      try idle.start()
      try idle.join(timeout: patience)
    }
  }

  @Test("SCOPE-1 SCOPE-5: what names a scope belongs to it; entering nests, and is left when the body throws")
  func namedAndNested() throws {
    let outer = try RunLoopScope(), inner = try RunLoopScope(label: "inner")
    let named = try RunLoopTimer(after: .zero, label: "named", scope: inner) { _ in }
    try outer.enter {
      let first = try inner.enter { try RunLoopSource { _ in } }
      #expect(throws: Wrong.self) { try inner.enter { throw Wrong() } }
      let second = try RunLoopSource { _ in }
      #expect(try inner.close(timeout: patience))
      #expect(!first.isValid && !named.isValid && second.isValid)
    }
    let after = try RunLoopSource { _ in }
    #expect(try outer.close(timeout: patience) && outer.close())
    #expect(after.isValid)
    #expect(status { _ = try RunLoopScope(label: "a\0b") } == .argument)
    #expect(status { _ = try RunLoopScope(label: String(repeating: "x", count: 256)) } == .range)
  }

  @Test("SCOPE-3: a close whose time passes tells who is inside, and can be tried again")
  func holders() throws {
    let inside = Signal(), go = Signal()
    let scope = try RunLoopScope()
    let worker = try RunLoopThread.startWorker()
    try worker.setName("a reader")
    let source = try RunLoopSource(label: "slow", scope: scope) { _ in
      inside.signal()
      try go.wait()
    }
    try worker.loop.add(source)
    source.signal()
    try inside.wait()
    #expect(status { try scope.close(timeout: .zero) } == .timeout)
    let holder = try #require(scope.holders.first)
    #expect(holder.kind == "source" && holder.label == "slow" && holder.threadID == worker.kernelID)
    #expect(holder.threadName == "a reader" && holder.callback == "slow")
    #expect("\(holder)".hasPrefix("source “slow” in thread \(worker.kernelID) “a reader” for "))
    go.signal()
    #expect(try scope.close(timeout: patience))
    try worker.stopAndJoin(timeout: patience)
  }

  @Test("SCOPE-4: from inside of itself a scope is closed when its callbacks have returned")
  func fromInside() throws {
    let log = Log()
    try onThread {
      let scope = try RunLoopScope(), loop = try RunLoop.current()
      let source = try RunLoopSource(scope: scope) { source in
        log.add("\(try scope.close()) \(scope.isValid)")
      }
      try source.start().signal()
      log.add("\(try loop.run() == .finished) \(source.isValid) \(scope.holders.count)")
    }
    #expect(log.all == ["false false", "true false 0"])
  }

  @Test("SCOPE-5: with its last reference a scope is closed")
  func lastReference() throws {
    let gone = Signal()
    let tracked = Tracked(gone)
    var scope: RunLoopScope? = try RunLoopScope()
    let source = try RunLoopSource(scope: scope) { _ in }
    #expect(source.isValid)
    scope = nil
    #expect(!source.isValid)
    tracked.use()
  }
}
