// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Foundation
import Glibc
import TestSupport
import Testing
import Treadle
import TreadleFoundation

/// Runs a body on a thread of its own, which has loops of both kinds.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
    do {
      try RunLoopThread.detachNew { done.resume(with: Result { try body() }) }
    } catch { done.resume(throwing: error) }
  }
}

/// Runs Foundation's loop once, until something holds: what makes it true ends that run.
func runFoundation(until isDone: () -> Bool) {
  let limit = Date(timeIntervalSinceNow: TimeInterval(patience.components.seconds))
  while !isDone() && limit.timeIntervalSinceNow > 0 { _ = RunLoop.current.run(mode: .default, before: limit) }
}

extension Log {
  /// Says what came, and ends the run of Foundation's loop on this thread, as no timer of Foundation's does.
  fileprivate func came(_ line: String) {
    add(line)
    RunLoop.current._stop()
  }
}

@Suite("ABI-9: a loop inside of Foundation's")
struct GuestTests {
  @Test("timers, posts, sources and descriptors of both loops come on one thread")
  func both() async throws {
    try await onThread {
      let loop = try TreadleRunLoop.current(), log = Log()
      let guest = try loop.serve()
      #expect(guest.isValid && guest.description.hasPrefix("RunLoopGuest("))
      let thread = pthread_self()
      _ = Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in log.came("Foundation's timer") }
      try RunLoopTimer(after: .milliseconds(1)) { _ in log.came("timer") }.start()
      let source = try RunLoopSource { _ in log.came("source") }.start()
      var pipe: [Int32] = [0, 0]
      #expect(Glibc.pipe(&pipe) == 0)
      let reading = pipe[0], writing = pipe[1]
      try RunLoopDescriptor(reading) { descriptor, _ in
        log.came("descriptor")
        descriptor.invalidate()
      }.start()
      let helper = try RunLoopThread {
        source.signal()
        try? loop.post { log.came(pthread_equal(thread, pthread_self()) != 0 ? "post" : "elsewhere") }
        write(writing, "x", 1)
      }
      try helper.start()
      runFoundation { log.all.count == 5 }
      #expect(log.all.sorted() == ["Foundation's timer", "descriptor", "post", "source", "timer"])
      try helper.join()
      close(reading)
      close(writing)
      guest.invalidate()
      #expect(!guest.isValid)
    }
  }

  @Test("what comes in thousands of steps between the loops is not lost")
  func steps() async throws {
    try await onThread {
      let loop = try TreadleRunLoop.current(), log = Log()
      let guest = try loop.serve()
      let worker = try RunLoopThread.startWorker(), there = try worker.loop
      @Sendable func step(_ number: Int) {
        if number == 2000 { return log.came("done") }
        try? there.post { try loop.post { step(number + 1) } }
      }
      step(0)
      runFoundation { !log.all.isEmpty }
      #expect(log.all == ["done"])
      try worker.stopAndJoin()
      guest.invalidate()
    }
  }

  @Test("its end leaves Foundation's loop and no descriptor, whether it is invalidated or the thread ends")
  func ends() async throws {
    let before = descriptors()
    for index in 0..<50 {
      try await onThread {
        let loop = try TreadleRunLoop.current()
        let guest = try loop.serve()
        try loop.post { RunLoop.current._stop() }
        if index % 2 == 0 { runFoundation { loop.counters.posts == 1 } }
        if index % 3 == 0 {
          guest.invalidate()
          guest.invalidate()
          #expect(!RunLoop.current.run(mode: .default, before: .distantFuture))
          try loop.post {}
        }
      }
    }
    // The descriptors are closed on libdispatch's threads.
    let limit = RunLoopInstant.now + .seconds(60)
    // Other tests open some meanwhile: what counts is that there was a moment without.
    var open = descriptors()
    while open > before + 10 && RunLoopInstant.now < limit {
      try await Task.sleep(for: .milliseconds(1))
      open = descriptors()
    }
    #expect(open <= before + 10)
  }

  @Test("a callback may run the loop it is called by, nested, and end the guest")
  func nested() async throws {
    try await onThread {
      let loop = try TreadleRunLoop.current(), log = Log()
      let guest = try loop.serve(during: [.default])
      try loop.post {
        try loop.post { log.add("inner") }
        try loop.run(for: .zero, whenEmpty: true)
        guest.invalidate()
        log.came("outer")
      }
      runFoundation { log.all.count == 2 }
      #expect(log.all == ["inner", "outer"])
    }
  }

  @Test("what does not fit is refused")
  func refused() async throws {
    try await onThread {
      let loop = try TreadleRunLoop.current()
      #expect(throws: TreadleError.self) { try loop.serve(during: []) }
      #expect(throws: TreadleError.self) { try loop.serve(in: .common) }
      let other = try RunLoopThread.startWorker()
      let there = try other.loop
      #expect(code { try there.serve() } == .wrongThread)
      #expect(code { try there.openPollable() } == .wrongThread)
      #expect(code { try loop.serve(inside: .main) } == .argument)
      try other.stopAndJoin()
    }
  }
}

/// How many descriptors the process has open.
private func descriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

/// What a call is refused for.
private func code<Result>(_ call: () throws -> Result) -> TreadleError.Code? {
  do {
    _ = try call()
    return nil
  } catch { return (error as? TreadleError)?.code }
}
