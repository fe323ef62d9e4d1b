// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

private struct Wrong: Error, Equatable { let number: Int }

@Suite("Tasks that wait for a loop to perform")
struct LoopPerformTests {
  @Test("BLK-3: values, errors, and the order of the queue")
  func values() async throws {
    try await watched {
      try await withWorker { thread, loop in
        #expect(try await loop.perform { loop.isCurrent })
        let gone = Tally()
        func use() async throws {
          let held = Held(gone)
          try await loop.perform { held.use() }
        }
        try await use()
        #expect(gone.count == 1, "released before the task goes on")
        #expect(try await thread.loop.perform(in: [.default, "other"]) { 42 } == 42)
        await #expect(throws: Wrong(number: 7)) { try await loop.perform { throw Wrong(number: 7) } }
        let log = Log()
        try loop.post { log.add("before") }
        try await loop.perform { log.add("performed") }
        try loop.post { log.add("after") }
        try await loop.perform {}
        #expect(log.all == ["before", "performed", "after"])
        // From the loop's own thread: through the queue as well.
        let executor = try loop.executor
        let both = try await Task(executorPreference: executor) {
          try loop.post { log.add("first") }
          return try await loop.perform {
            log.add("then")
            return loop.isCurrent
          }
        }.value
        #expect(both && log.all.suffix(2) == ["first", "then"])
      }
    }
  }

  @Test("cancelled before the body has begun it is taken out; later that has no effect")
  func cancelled() async throws {
    try await watched {
      try await withWorker { _, loop in
        let gone = Tally()
        let waiting = { () -> Task<Int, any Error> in
          let held = Held(gone)
          return Task {
            try await loop.perform(in: ["never"]) {
              held.use()
              return 1
            }
          }
        }()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await gone.reaches(1)
        #expect(try await loop.perform { try loop.run(in: "never", for: .zero) } != .handledSource)

        let begun = Signal(), proceed = Signal()
        let running = Task {
          try await loop.perform {
            begun.signal()
            proceed.waitWatched()
            return 2
          }
        }
        try await elsewhere { begun.waitWatched() }
        running.cancel()
        proceed.signal()
        #expect(try await running.value == 2)
        // Cancelled before it waits.
        let early = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          return try await loop.perform { 3 }
        }
        await #expect(throws: CancellationError.self) { try await early.value }
      }
    }
  }

  @Test("a script of four steps, cancelled at each of its waits", arguments: 0...4)
  func cancelledAt(step last: Int) async throws {
    try await watched {
      try await withWorker { thread, loop in
        let log = Log()
        // A request, since a nested run in a post does not run what is in the same drain (BLK-6).
        let runStep = { @Sendable (step: Int) async throws -> Void in
          try await elsewhere {
            _ = try thread.perform(waitUntilDone: true) { try loop.run(in: RunLoopMode("step \(step)"), for: .zero) }
          }
        }
        let script = Task {
          for step in 0..<4 { try await loop.perform(in: [RunLoopMode("step \(step)")]) { log.add("\(step)") } }
        }
        for step in 0..<last {
          // The step runs in its mode alone, and is queued at some time.
          while log.all.count == step { try await runStep(step) }
        }
        if last < 4 { script.cancel() }
        let result = await script.result
        for step in 0..<4 { try await runStep(step) }
        #expect(log.all == (0..<last).map { "\($0)" })
        switch result {
        case .success: #expect(last == 4)
        case .failure(let error): #expect(last < 4 && error is CancellationError)
        }
      }
    }
  }

  @Test("RL-8 RL-9: who waits is told when the loop's thread ends")
  func endOfThread() async throws {
    try await watched {
      let idle = try IdleThread(), gone = Tally()
      let waiting = (0..<1000).map { index in
        let held = Held(gone)
        return Task { () -> TreadleError.Code? in
          do {
            try await idle.loop.perform(in: index % 2 == 0 ? [.common] : ["never"]) { held.use() }
            return nil
          } catch { return (error as? TreadleError)?.code }
        }
      }
      // And some that are cancelled meanwhile.
      for task in waiting.prefix(100) { task.cancel() }
      try await idle.end()
      for (index, task) in waiting.enumerated() {
        let code = await task.value
        #expect(code == .closed || index < 100 && code == nil)
      }
      await gone.reaches(1000)
      await #expect(throws: TreadleError.self) { try await idle.loop.perform {} }
    }
  }

  @Test("RL-8: a loop that ends while tasks wait for it, one way or the other")
  func endWhileWaiting() async throws {
    try await watched {
      for _ in 0..<50 {
        let worker = try await elsewhere { try RunLoopThread.startWorker() }
        let loop = try worker.loop, called = Tally()
        let answers = await withTaskGroup(of: Int.self) { group in
          for index in 0..<100 {
            group.addTask {
              do {
                try await loop.perform { called.add() }
                return 1
              } catch { return 0 }
            }
            if index == 50 { worker.stop() }
          }
          return await group.reduce(0, +)
        }
        #expect(answers == called.count)
        try await end(worker)
      }
    }
  }
}

/// Both ends of a pipe, which do not block.
private final class Pipe: Sendable {
  let reader: Int32, writer: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    for end in ends { try #require(fcntl(end, F_SETFL, O_NONBLOCK) == 0) }
    (reader, writer) = (ends[0], ends[1])
  }

  deinit {
    close(reader)
    close(writer)
  }

  func put(_ count: Int = 1) { _ = write(writer, [UInt8](repeating: 1, count: count), count) }

  /// How many bytes there were, at most so many.
  func take(_ count: Int = 100) -> Int {
    var bytes = [UInt8](repeating: 0, count: count)
    return max(read(reader, &bytes, count), 0)
  }
}

@Suite("Items of loops as sequences")
struct LoopSequenceTests {
  @Test("SRC1-2: a descriptor's readiness, which is not read for the consumer")
  func readiness() async throws {
    try await watched {
      try await withWorker { _, loop in
        let pipe = try Pipe()
        let sequence = try loop.readiness(of: pipe.reader, label: "pipe")
        pipe.put(5)
        var taken: [Int] = []
        for await seen in sequence {
          #expect(seen.contains(.readable))
          taken.append(pipe.take(2))
          if taken.count == 3 { pipe.put() }
          if taken.count == 4 { break }
        }
        #expect(taken == [2, 2, 1, 1])
        #expect(sequence.isValid)
        sequence.end()
        #expect(!sequence.isValid)
        for await _ in sequence { Issue.record("it has ended") }
        #expect(throws: TreadleError.self) { try loop.readiness(of: -1) }
      }
    }
  }

  @Test("SRC1-2: a slow consumer does not have the loop turn in haste")
  func slowConsumer() async throws {
    try await watched {
      try await withWorker { _, loop in
        let pipe = try Pipe()
        pipe.put()
        let sequence = try loop.readiness(of: pipe.reader)
        var iterator = sequence.makeAsyncIterator()
        for round in 1...20 {
          #expect(await iterator.next() == .readable)
          // Nothing is taken from the pipe, and the loop is kept busy for many passes.
          let ticks = try loop.ticks(every: .microseconds(100))
          for await _ in ticks where loop.counters.timers > UInt64(round * 50) { break }
          #expect(loop.counters.descriptors == UInt64(round))
        }
        let passes = loop.counters.passes
        // Asleep: only what wakes it makes passes.
        try await loop.perform {}
        #expect(loop.counters.passes <= passes + 20)
        sequence.end()
      }
    }
  }

  @Test("SRC1-11: a descriptor that was closed ends the iteration")
  func closed() async throws {
    try await watched {
      try await withWorker { _, loop in
        let pipe = try Pipe(), copy = dup(pipe.reader)
        pipe.put()
        var iterator = try loop.readiness(of: copy).makeAsyncIterator()
        #expect(await iterator.next() != nil)
        close(copy)
        #expect(await iterator.next() == nil)
      }
    }
  }

  @Test("several consumers share the elements, and none waits for ever")
  func consumers() async throws {
    try await watched {
      try await withWorker { _, loop in
        let pipe = try Pipe(), taken = Tally()
        let sequence = try loop.readiness(of: pipe.reader)
        let consumers = (0..<4).map { _ in
          Task { for await _ in sequence { for _ in 0..<pipe.take(1) { taken.add() } } }
        }
        for _ in 0..<100 {
          pipe.put()
          await Task.yield()
        }
        await taken.reaches(100)
        sequence.end()
        for consumer in consumers { await consumer.value }
        // Each of them waits once, and leaves the descriptor ready: one that is told does not silence the others.
        for _ in 0..<20 {
          let pipe = try Pipe(), shared = try loop.readiness(of: pipe.reader)
          await withTaskGroup { group in
            for _ in 0..<4 {
              group.addTask {
                var iterator = shared.makeAsyncIterator()
                #expect(await iterator.next() != nil)
              }
            }
            await Task.yield()
            pipe.put()
          }
        }
      }
    }
  }

  @Test("TMR-16: ticks are on their grid, and a single one ends the iteration")
  func ticks() async throws {
    try await watched {
      try await withWorker { _, loop in
        var dates: [RunLoopInstant] = []
        let interval = Duration.milliseconds(1)
        for await date in try loop.ticks(every: interval) {
          dates.append(date)
          if dates.count == 5 { break }
          // Slower than the grid.
          try await loop.perform { RunLoopThread.sleep(for: .microseconds(1500)) }
        }
        for (earlier, later) in zip(dates, dates.dropFirst()) {
          #expect((later - earlier).components.attoseconds % interval.components.attoseconds == 0 && later > earlier)
        }
        #expect(dates.count == 5)
        var single = 0
        for await _ in try loop.ticks() { single += 1 }
        #expect(single == 1)
      }
    }
  }

  @Test("SRC0-6: signals merge, and each one that comes after a delivery is seen")
  func signals() async throws {
    try await watched {
      try await withWorker { _, loop in
        let signals = try loop.signals(label: "bell")
        var iterator = signals.received.makeAsyncIterator()
        for _ in 0..<100 {
          #expect(signals.signal())
          #expect(await iterator.next() != nil)
        }
        let before = loop.counters.signals
        try await loop.perform { for _ in 0..<10 { signals.signal() } }
        #expect(await iterator.next() != nil)
        #expect(loop.counters.signals == before + 1)
        signals.received.end()
        #expect(!signals.signal())
        #expect(await iterator.next() == nil)
      }
    }
  }

  /// One of each kind, iterated until it ends.
  private func iterations(
    on loop: RunLoop, _ pipe: Pipe, scope: RunLoopScope? = nil
  ) throws -> (tasks: [Task<Void, Never>], items: [@Sendable () -> Bool]) {
    let readiness = try loop.readiness(of: pipe.reader, scope: scope)
    let ticks = try loop.ticks(after: .seconds(3600), every: .seconds(1), scope: scope)
    let signals = try loop.signals(scope: scope)
    return (
      [
        Task { for await _ in readiness {} }, Task { for await _ in ticks {} },
        Task { for await _ in signals.received {} },
      ], [{ readiness.isValid }, { ticks.isValid }, { signals.received.isValid }]
    )
  }

  @Test("RL-8: the iteration ends when the loop's thread does, whether it was waited for or not")
  func endOfThread() async throws {
    try await watched {
      let pipe = try Pipe()
      for _ in 0..<20 {
        let worker = try await elsewhere { try RunLoopThread.startWorker() }
        let loop = try worker.loop
        let (tasks, items) = try iterations(on: loop, pipe)
        try await end(worker)
        for task in tasks { await task.value }
        for isValid in items { #expect(!isValid()) }
        #expect(throws: TreadleError.self) { try loop.ticks() }
      }
    }
  }

  @Test("SCOPE-2: the iteration ends with its scope")
  func endOfScope() async throws {
    try await watched {
      try await withWorker { _, loop in
        let pipe = try Pipe(), scope = try RunLoopScope()
        let (tasks, items) = try iterations(on: loop, pipe, scope: scope)
        try await elsewhere { try scope.close(timeout: patience) }
        for task in tasks { await task.value }
        for isValid in items { #expect(!isValid()) }
      }
    }
  }

  @Test("OBJ-4: cancelling the task ends the item, and so does giving the sequence up")
  func cancelling() async throws {
    try await watched {
      try await withWorker { _, loop in
        let pipe = try Pipe()
        let (tasks, items) = try iterations(on: loop, pipe)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        for isValid in items { #expect(!isValid()) }
        #expect(try loop.items().isEmpty)
        do {
          _ = try loop.readiness(of: pipe.reader)
          _ = try loop.ticks(after: .seconds(3600), every: .seconds(1))
          _ = try loop.signals()
        }
        while try !loop.items().isEmpty { await Task.yield() }
      }
    }
  }
}
