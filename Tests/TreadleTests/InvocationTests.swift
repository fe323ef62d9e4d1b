// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// C functions that are called on other threads.
@Suite("Invocations")
struct InvocationTests {
  /// A function that tells where it is called, and adds.
  private func sum(on loop: RunLoop, _ called: Tally? = nil) throws -> RunLoopFunction {
    try RunLoopClosure { (left: Int32, right: Int32) -> Int32 in
      called?.add()
      return loop.isCurrent ? left + right : -1
    }.function
  }

  @Test("PERF-2 PERF-3: arguments go there, results come back, strings are copied")
  func calls() async throws {
    try await watched {
      try await withWorker { thread, loop in
        let call = try RunLoopInvocation(of: sum(on: loop), with: 1 as Int32, 2 as Int32, returning: Int32.self)
        #expect(try call.state == .idle && call.signature == "iii")
        #expect(status { _ = try call.result } == .state)
        #expect(try await call.perform(on: loop) == 3)
        #expect(try call.state == .done && call.result == 3)
        #expect(try await elsewhere { try call.performAndWait(on: loop) } == 3)
        // On the calling thread.
        #expect(try call.performAndWait() == -1)
        try call.setArgument(40 as Int32, at: 1)
        #expect(try await call.perform(on: loop, in: [.default]) == 41)
        #expect(status { try call.setArgument(40, at: 1) } == .range)
        #expect(status { try call.setArgument(40 as Int32, at: 2) } == .range)
        #expect(status { try call.setArgument(40 as Int32, at: -1) } == .range)
        // From the loop's own thread, without a wait of the thread.
        #expect(try await Task(executorPreference: loop.executor) { try await call.perform(on: loop) }.value == 41)
        func length() throws -> RunLoopInvocation<UInt> {
          try RunLoopInvocation(of: RunLoopFunction(named: "strlen"), with: "on the" + " worker", returning: UInt.self)
        }
        #expect(try await length().perform(on: loop) == 13)
        // A pointer that is not NULL; a function without a result; NULL.
        let number = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        defer { number.deallocate() }
        number.pointee = -1
        let fill: @convention(c) (UnsafeMutableRawPointer, Int32, Int) -> UnsafeMutableRawPointer? = { memset($0, $1, $2) }
        let clear = try RunLoopInvocation(
          of: RunLoopFunction(fill), with: number, 0 as Int32, 4, returning: UnsafeMutableRawPointer?.self)
        #expect(try await clear.perform(on: loop) == UnsafeMutableRawPointer(number))
        #expect(number.pointee == 0)
        let nothing = try RunLoopInvocation<Void>(of: RunLoopFunction(named: "free"), with: UnsafeMutableRawPointer?.none)
        try await nothing.perform(on: loop)
        try nothing.performAndWait()
        #expect("\(nothing)".contains("“v^v”") && "\(nothing)".contains("done"))
        #expect(status { try nothing.start(on: loop, in: []) } == .argument)
      }
    }
  }

  @Test("PERF-7: a wait that runs the caller's loop")
  func waits() throws {
    try withLoopThread { thread in
      let own = try RunLoop.current(), log = Log()
      let back = try RunLoopInvocation(of: sum(on: own), with: 1 as Int32, 1 as Int32, returning: Int32.self)
      let there = try RunLoopClosure { () in
        do throws(TreadleError) { log.add("\(try back.performAndWait(on: own))") } catch { log.add("\(error.code)") }
      }
      let call = try RunLoopInvocation<Void>(of: there.function)
      try call.performAndWait(on: thread.loop, runsOwnLoop: true)
      // Both would wait for ever.
      try call.performAndWait(on: thread.loop)
      #expect(log.all == ["2", "TREADLE_E_DEADLOCK"])
    }
  }

  @Test("PERF-7: errno is what the function left, wherever it was called and the task goes on")
  func errnoTravels() async throws {
    try await watched {
      try await withWorker { _, loop in
        let call = try RunLoopInvocation(of: RunLoopFunction(named: "close"), with: -1 as Int32, returning: Int32.self)
        #expect(status { _ = try call.errno } == .state)
        #expect(try await call.perform(on: loop) == -1)
        #expect(try call.errno == EBADF)
        let both = try await elsewhere { (try call.performAndWait(on: loop), errno) }
        #expect(both == (-1, EBADF))
      }
    }
  }

  @Test("PERF-1: a call waits for its loop; patience ends, and it may be cancelled")
  func cancelled() async throws {
    try await watched {
      let idle = try IdleThread(), called = Tally()
      let call = try RunLoopInvocation(of: sum(on: idle.loop, called), with: 1 as Int32, 2 as Int32, returning: Int32.self)
      #expect(!call.cancel())
      await #expect(throws: TreadleError.self) { try await elsewhere { try call.performAndWait(on: idle.loop, timeout: .zero) } }
      #expect(try call.state == .cancelled)
      try call.start(on: idle.loop)
      #expect(try call.state == .queued && status { try call.start(on: idle.loop) } == .state)
      await #expect(throws: TreadleError.self) { try await call.perform(on: idle.loop) }
      #expect(call.cancel() && !call.cancel())
      // The task is told at once, though nobody runs the loop.
      let waiting = Task { try await call.perform(on: idle.loop) }
      while try call.state != .queued { await Task.yield() }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      #expect(try call.state == .cancelled)
      let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await call.perform(on: idle.loop)
      }
      await #expect(throws: CancellationError.self) { try await early.value }
      try await idle.end()
      #expect(called.count == 0)
    }
  }

  @Test("one that runs is waited for, whoever is cancelled")
  func running() async throws {
    try await watched {
      try await withWorker { _, loop in
        let begun = Signal(), proceed = Signal()
        let slow = try RunLoopClosure { () -> Int32 in
          begun.signal()
          proceed.waitWatched()
          return 7
        }
        let call = try RunLoopInvocation(of: slow.function, returning: Int32.self)
        let task = Task { try await call.perform(on: loop) }
        try await elsewhere { begun.waitWatched() }
        #expect(try call.state == .running)
        task.cancel()
        #expect(!call.cancel())
        proceed.signal()
        #expect(try await task.value == 7)
        // Cancelled by another than the task.
        try await loop.perform { begun.signal() }
        let held = try RunLoopInvocation(of: slow.function, returning: Int32.self)
        let waiting = Task { try await held.perform(on: loop, in: ["never"]) }
        while try held.state != .queued { await Task.yield() }
        #expect(held.cancel())
        do {
          _ = try await waiting.value
          Issue.record("it was cancelled")
        } catch { #expect((error as? TreadleError)?.code == .cancelled) }
      }
    }
  }

  @Test("PERF-9: who waits is told when the loop's thread ends, or has ended")
  func endOfThread() async throws {
    try await watched {
      let idle = try IdleThread(), called = Tally()
      let function = try sum(on: idle.loop, called)
      let waiting = try (0..<200).map { index in
        let call = try RunLoopInvocation(of: function, with: Int32(index), 0 as Int32, returning: Int32.self)
        return Task { () -> TreadleError.Code? in
          do {
            _ = try await call.perform(on: idle.loop, in: index % 2 == 0 ? nil : ["never"])
            return nil
          } catch { return (error as? TreadleError)?.code }
        }
      }
      try await idle.end()
      for task in waiting { #expect(await task.value == .closed) }
      #expect(called.count == 0)
      let late = try RunLoopInvocation(of: function, with: 1 as Int32, 0 as Int32, returning: Int32.self)
      #expect(status { try late.performAndWait(on: idle.loop) } == .closed)
      #expect(status { try late.start(on: idle.loop) } == .closed)
      // While calls are under way: each is called, or told that it will not be.
      for _ in 0..<20 {
        let worker = try await elsewhere { try RunLoopThread.startWorker() }
        let loop = try worker.loop, reached = Tally()
        let there = try sum(on: loop, reached)
        let answers = await withTaskGroup(of: Int.self) { group in
          for index in 0..<50 {
            group.addTask {
              let call = try? RunLoopInvocation(of: there, with: 1 as Int32, 0 as Int32, returning: Int32.self)
              return await (try? call?.perform(on: loop)) == 1 ? 1 : 0
            }
            if index == 25 { worker.stop() }
          }
          return await group.reduce(0, +)
        }
        try await end(worker)
        #expect(answers == reached.count)
      }
    }
  }

  @Test("SCOPE-2: a call ends with its scope")
  func scopes() async throws {
    try await watched {
      let idle = try IdleThread(), scope = try RunLoopScope(), gone = Tally()
      func make() throws -> RunLoopInvocation<Void> {
        let held = Held(gone)
        let closure = try RunLoopClosure { () in held.use() }
        return try RunLoopInvocation<Void>(of: closure.function, scope: scope)
      }
      func use() async throws {
        let call = try make()
        let waiting = Task { try await call.perform(on: idle.loop) }
        while try call.state != .queued { await Task.yield() }
        #expect(scope.holders.contains { $0.kind == "invocation" })
        try await elsewhere { try scope.close(timeout: patience) }
        await #expect(throws: TreadleError.self) { try await call.perform(on: idle.loop) }
        #expect(status { _ = try make() } == .closed)
        // The loop tells, or its end.
        try await idle.end()
        await #expect(throws: TreadleError.self) { try await waiting.value }
      }
      try await use()
      await gone.reaches(2)
    }
  }

  @Test("OBJ-3: a call that was started lives on without its object, and so does what it calls")
  func forgotten() async throws {
    try await watched {
      try await withWorker { _, loop in
        let called = Tally()
        func start() throws {
          let call = try RunLoopInvocation(of: sum(on: loop, called), with: 1 as Int32, 0 as Int32, returning: Int32.self)
          try call.start(on: loop)
        }
        try start()
        await called.reaches(1)
      }
    }
  }
}
