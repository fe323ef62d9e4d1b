// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

/// An actor that lives on a loop, and counts without a lock.
private actor Resident {
  private let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  let loop: RunLoop
  private(set) var count = 0
  private var held: Held?

  init(on loop: RunLoop, with executor: LoopExecutor? = nil, _ held: Held? = nil) throws {
    self.executor = try executor ?? loop.executor
    self.loop = loop
    self.held = held
  }

  /// Whether the code of the actor is on the loop's thread.
  func step() -> Bool {
    count += 1
    return loop.isCurrent
  }

  var priority: TaskPriority { Task.currentPriority }

  func step(on other: Resident) async -> Bool {
    let isThere = await other.step()
    count += 1
    return isThere && loop.isCurrent
  }

  /// What happens while the actor's code runs its loop, nested.
  func steps(duringRunAfter prepare: @Sendable () -> Void, counted: @Sendable () -> Int) throws -> Int {
    prepare()
    for _ in 0..<10 { try loop.run(for: .zero) }
    return counted()
  }
}

/// Counted by jobs of one loop, which need no lock.
private final class Unguarded: @unchecked Sendable {
  var value = 0
}

/// An actor without an executor of its own.
private actor Guest {
  private(set) var count = 0
  func isOn(_ loop: RunLoop) -> Bool {
    count += 1
    return loop.isCurrent
  }
}

@Suite("Actors and tasks on loops")
struct LoopExecutorTests {
  @Test("an actor's code is on its loop's thread, and isolated in the loop's callbacks")
  func actorOnLoop() async throws {
    try await watched {
      try await withWorker { _, loop in
        let resident = try Resident(on: loop)
        #expect(await resident.step())
        // Another executor of the loop is the same context.
        let other = try Resident(on: loop, with: LoopExecutor(on: loop))
        #expect(await resident.step(on: other))
        let seen = try await loop.perform {
          resident.assumeIsolated { $0.count } + other.assumeIsolated { $0.count }
        }
        #expect(seen == 3)
        #expect(try loop.executor === loop.executor)
        #expect(try loop.executor.isIsolatingCurrentContext() == false)
      }
    }
  }

  @Test("ten thousand actors on four loops")
  func manyActors() async throws {
    try await watched {
      try await withWorker { _, one in
        try await withWorker { _, two in
          try await withWorker { _, three in
            try await withWorker { _, four in
              let loops = [one, two, three, four]
              let residents = try (0..<10_000).map { try Resident(on: loops[$0 % 4]) }
              let right = await withTaskGroup(of: Bool.self) { group in
                for (index, resident) in residents.enumerated() {
                  // Of another loop, and of the same one.
                  group.addTask { await resident.step(on: residents[(index + 1) % residents.count]) }
                  group.addTask { await resident.step(on: residents[(index + 4) % residents.count]) }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
              }
              #expect(right == 20_000)
              var count = 0
              for resident in residents { count += await resident.count }
              #expect(count == 40_000)
            }
          }
        }
      }
    }
  }

  @Test("BLK-3: tasks that prefer a loop run there, in order, and so do their children")
  func tasks() async throws {
    try await watched {
      try await withWorker { _, loop in
        let log = Log(), executor = try loop.executor
        let tasks = (0..<1000).map { index in
          Task(executorPreference: executor) { log.add("\(index) \(loop.isCurrent)") }
        }
        for task in tasks { await task.value }
        #expect(log.all == (0..<1000).map { "\($0) true" })
        let children = await Task(executorPreference: executor) {
          await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
              group.addTask {
                await Task.yield()
                return loop.isCurrent
              }
            }
            return await group.allSatisfy { $0 } && loop.isCurrent
          }
        }.value
        #expect(children)
        await withTaskExecutorPreference(executor) { #expect(loop.isCurrent) }
        // Actors without an executor of their own follow the task.
        let guest = Guest()
        #expect(await Task(executorPreference: executor) { await guest.isOn(loop) }.value)
        #expect(await !guest.isOn(loop))
      }
    }
  }

  @Test("a task on a loop keeps its priority, and gives it to the actors that it calls and to its children")
  func priorities() async throws {
    try await watched {
      try await withWorker { _, loop in
        let resident = try Resident(on: loop), executor = try loop.executor
        for priority in [TaskPriority.high, .medium, .low, .background] {
          let log = Log(), done = Tally()
          // Nobody waits for the task itself, which would raise its priority.
          Task(executorPreference: executor, priority: priority) {
            log.add("\(Task.currentPriority == priority)")
            log.add("\(await resident.priority == priority)")
            async let child = Task.currentPriority
            log.add("\(await child == priority)")
            Task {
              log.add("\(Task.currentPriority == priority)")
              done.add()
            }
          }
          await done.reaches(1)
          #expect(log.all == ["true", "true", "true", "true"])
        }
      }
    }
  }

  @Test("executors of one loop that are made and given up by many threads exclude each other's jobs")
  func manyExecutors() async throws {
    try await watched {
      try await withWorker { _, loop in
        let count = Unguarded()
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<8 {
            group.addTask {
              for _ in 0..<200 {
                guard let executor = try? LoopExecutor(on: loop) else { continue }
                await withTaskExecutorPreference(executor) { count.value += 1 }
              }
            }
          }
        }
        #expect(count.value == 1600)
      }
    }
  }

  @Test("code that is elsewhere is not isolated, and is told so")
  func notIsolated() async {
    await #expect(processExitsWith: .failure) {
      let worker = try RunLoopThread.startWorker()
      let resident = try Resident(on: worker.loop)
      func enter() { resident.assumeIsolated { _ in } }
      enter()
    }
  }

  @Test("BLK-5: jobs do not keep the loop from its timers")
  func fairness() async throws {
    try await watched {
      try await withWorker { _, loop in
        let resident = try Resident(on: loop), fired = Tally()
        let timer = try RunLoopTimer(after: .zero, repeating: .microseconds(10)) { _ in fired.add() }
        try loop.add(timer)
        let busy = Task(executorPreference: try loop.executor) {
          let last = fired.count + 100
          var steps = 0
          while fired.count < last {
            steps += 1
            _ = await resident.step()
            await Task.yield()
          }
          return steps
        }
        #expect(await busy.value > 0)
        timer.invalidate()
      }
    }
  }

  @Test("BLK-6: a job's nested run starts no other job of its loop, whatever their executors; one in a callback does")
  func nested() async throws {
    try await watched {
      try await withWorker { _, loop in
        let resident = try Resident(on: loop)
        let executors = try [loop.executor, LoopExecutor(on: loop), LoopExecutor(on: loop, in: [.default, "other"])]
        let done = Tally()
        let seen = try await resident.steps {
          for executor in executors { Task(executorPreference: executor) { done.add() } }
        } counted: {
          done.count
        }
        #expect(seen == 0)
        await done.reaches(3)
        // A callback that is no job: the nested run serves.
        let inside = try await loop.perform {
          let inner = Tally()
          Task(executorPreference: try loop.executor) { inner.add() }
          try loop.run(for: .zero)
          return inner.count
        }
        #expect(inside == 1)
      }
    }
  }

  @Test("a scope that the poster has entered does not take its jobs along")
  func scopes() async throws {
    try await watched {
      let thread = try RunLoopThread(body: nil), loop = try thread.loop
      let resident = try Resident(on: loop), there = Tally(), done = Tally()
      let scope = try RunLoopScope(), executor = try loop.executor
      try scope.enter {
        for _ in 0..<10 {
          Task(executorPreference: executor) {
            if await resident.step() && loop.isCurrent { there.add() }
            done.add()
          }
        }
        try scope.close()
        Task(executorPreference: executor) { done.add() }
      }
      try await elsewhere { try thread.startAndWait(timeout: patience) }
      await done.reaches(11)
      #expect(there.count == 10)
      try await end(thread)
    }
  }
}

@Suite("Actors and tasks of loops whose thread ends")
struct LoopExecutorEndTests {
  @Test("RL-8: queued jobs, those that come meanwhile and later ones run to their end, one at a time")
  func endOfThread() async throws {
    try await watched {
      let gone = Tally(), done = Tally(), there = Tally()
      let producers = 4, each = 500
      weak var executor: LoopExecutor?
      do {
        let idle = try IdleThread()
        executor = try idle.loop.executor
        let resident = try Resident(on: idle.loop, Held(gone))
        for _ in 0..<1000 {
          let held = Held(gone)
          Task {
            if await resident.step() { there.add() }
            held.use()
            done.add()
          }
        }
        for _ in 0..<producers {
          try RunLoopThread.detachNew {
            for _ in 0..<each {
              let held = Held(gone)
              Task(executorPreference: try idle.loop.executor) {
                if await resident.step() { there.add() }
                held.use()
                done.add()
              }
            }
          }
        }
        try await idle.end()
        let total = 1000 + producers * each
        await done.reaches(total)
        #expect(await resident.step() == false, "later ones")
        #expect(await resident.count == total + 1, "one at a time")
        await #expect(throws: TreadleError.self) { try await idle.loop.perform {} }
        await gone.reaches(total)
      }
      await gone.reaches(1000 + producers * each + 1)
      while executor != nil { await Task.yield() }
      #expect(there.count == 0)
    }
  }

  @Test("RL-8: a loop ends in the middle of its tasks")
  func endWhileRunning() async throws {
    try await watched {
      for round in 0..<20 {
        let worker = try await elsewhere { try RunLoopThread.startWorker() }
        let loop = try worker.loop
        let residents = try (0..<10).map { _ in try Resident(on: loop, with: LoopExecutor(on: loop)) }
        let counts = await withTaskGroup(of: Int.self) { group in
          for (index, resident) in residents.enumerated() {
            group.addTask(executorPreference: index % 2 == 0 ? try? loop.executor : nil) {
              for step in 0..<100 {
                _ = await resident.step(on: residents[(index + 1) % 10])
                if step == 5 + round && index == 0 { worker.stop() }
              }
              return await resident.count
            }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.count == 10)
        var total = 0
        for resident in residents { total += await resident.count }
        #expect(total == 2000)
        try await end(worker)
      }
    }
  }

  @Test("RL-9: an executor of a loop that was gone before")
  func goneBefore() async throws {
    try await watched {
      let idle = try IdleThread()
      try await idle.end()
      let residents = try (0..<10).map { _ in try Resident(on: idle.loop, with: LoopExecutor(on: idle.loop)) }
      let seen = await withTaskGroup(of: Bool.self) { group in
        for (index, resident) in residents.enumerated() {
          group.addTask { await resident.step(on: residents[9 - index]) }
        }
        return await group.contains(true)
      }
      #expect(!seen)
      for resident in residents {
        #expect(await resident.count == 2)
        // Of one context there, too.
        let first = residents[0]
        #expect(await resident.reads(first) == 2)
      }
      // Tasks and actors without an executor of their own, too.
      let guest = Guest(), executor = try idle.loop.executor
      await withTaskGroup { group in
        for _ in 0..<100 { group.addTask(executorPreference: executor) { _ = await guest.isOn(idle.loop) } }
      }
      #expect(await guest.count == 100)
    }
  }

  @Test("THR-21: after the shutdown of all loops the jobs of a worker run to their end")
  func shutDown() async {
    await #expect(processExitsWith: .success) {
      let worker = try await elsewhere { try RunLoopThread.startWorker() }
      let loop = try worker.loop, resident = try Resident(on: loop)
      demand(await resident.step(), "not on the loop")
      let ticks = try loop.ticks(after: .seconds(3600), every: .seconds(1))
      try await elsewhere { try RunLoop.shutDown(timeout: patience) }
      for _ in 0..<100 { _ = await resident.step() }
      demand(await resident.count == 101, "not all")
      for await _ in ticks { demand(false, "a tick") }
      do {
        try await loop.perform { demand(false, "performed") }
        demand(false, "not refused")
      } catch {
        demand((error as? TreadleError)?.code == .closed, "\(error)")
      }
    }
  }

  @Test("RL-9: jobs wait for a thread that starts later")
  func startsLater() async throws {
    try await watched {
      let thread = try RunLoopThread(body: nil)
      let resident = try Resident(on: thread.loop)
      let steps = Task { await resident.step() }
      try await elsewhere { try thread.startAndWait(timeout: patience) }
      #expect(await steps.value)
      try await end(thread)
      let never = try { try Resident(on: RunLoopThread(body: nil).loop) }()
      #expect(await never.step() == false)
    }
  }
}

extension Resident {
  fileprivate func reads(_ other: Resident) -> Int { other.assumeIsolated { $0.count } }
}
