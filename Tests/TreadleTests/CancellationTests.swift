// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// The ways in which a task waits for a loop.
private enum Wait: CaseIterable {
  case perform, performOnExecutor, actor, children, invocation, readiness, ticks, signals
}

private struct WrongResult: Error {}

/// An actor on a loop, which waits for that loop.
private actor Waiter {
  private let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let loop: RunLoop

  init(on loop: RunLoop) throws {
    self.loop = loop
    executor = try loop.executor
  }

  func perform(in mode: RunLoopMode, _ body: @escaping @Sendable () -> Void) async throws {
    try await loop.perform(in: [mode], body)
  }
}

/// What the script waits for: events that come, or that never do.
private struct Stage: Sendable {
  let loop: RunLoop
  let executor: LoopExecutor
  let waiter: Waiter
  let function: RunLoopFunction
  /// One has a byte to read.
  let ready: Int32, silent: Int32
  let gone = Tally()

  /// Waits in one way. Everything that a wait holds counts in `gone` when it was released.
  func wait(by way: Wait, forEver: Bool) async throws {
    let mode: RunLoopMode = forEver ? "never" : .default
    let held = Held(gone)
    switch way {
    case .perform: try await loop.perform(in: [mode]) { held.use() }
    case .performOnExecutor:
      try await withTaskExecutorPreference(executor) { try await loop.perform(in: [mode]) { held.use() } }
    case .actor: try await waiter.perform(in: mode) { held.use() }
    case .children:
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try await loop.perform(in: [mode]) { held.use() } } }
        try await group.waitForAll()
      }
    case .invocation:
      let call = try RunLoopInvocation(of: function, with: -7 as Int32, returning: Int32.self)
      let result = try await call.perform(on: loop, in: [mode])
      if result != 7 { throw WrongResult() }
    case .readiness: try await first(of: loop.readiness(of: forEver ? silent : ready))
    case .ticks: try await first(of: loop.ticks(after: forEver ? .seconds(3600) : .zero))
    case .signals:
      let signals = try loop.signals()
      if !forEver { signals.signal() }
      try await first(of: signals.received)
    }
    held.use()
  }

  /// The end of a sequence without an element is the cancellation's.
  private func first<Element>(of sequence: RunLoopSequence<Element>) async throws {
    for await _ in sequence { return }
    throw CancellationError()
  }
}

@Suite("Cancellation at every wait")
struct CancellationTests {
  /// Reports each step before it begins. The last one has an event that never comes.
  private func script(on stage: Stage, until last: Int, _ log: Log) -> Task<Void, any Error> {
    Task {
      for (index, way) in Wait.allCases.enumerated() {
        log.add("\(index)")
        try await stage.wait(by: way, forEver: index == last)
      }
    }
  }

  @Test("RL-8 OBJ-4: a script that waits in every way, cancelled at each of its waits, sooner or later", arguments: 0...Wait.allCases.count)
  func cancelled(at last: Int) async throws {
    try await watched {
      var ends: [Int32] = [-1, -1], others: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0 && pipe(&others) == 0 && write(ends[1], "x", 1) == 1)
      try await withWorker { thread, loop in
        let stage = Stage(
          loop: loop, executor: try loop.executor, waiter: try Waiter(on: loop), function: try RunLoopFunction(named: "abs"),
          ready: ends[0], silent: others[0])
        for yields in [0, 1, 10, 100] {
          let log = Log(), before = stage.gone.count
          let task = script(on: stage, until: last, log)
          if last < Wait.allCases.count {
            while log.all.count <= last { await Task.yield() }
            for _ in 0..<yields { await Task.yield() }
            task.cancel()
          }
          switch await task.result {
          case .success: #expect(last == Wait.allCases.count)
          case .failure(let error): #expect(last < Wait.allCases.count && error is CancellationError)
          }
          let steps = min(last + 1, Wait.allCases.count)
          #expect(log.all.count == steps)
          // Each step has released what it held, and left nothing in the loop.
          await stage.gone.reaches(before + steps)
          while try !loop.items().isEmpty { await Task.yield() }
          let called = try await loop.perform { try loop.run(in: "never", for: .zero) }
          #expect(called != .handledSource)
        }
        #expect(try await loop.perform { loop.isCurrent })
      }
      for end in ends + others { close(end) }
    }
  }
}
