// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// Having threads perform something, now and later.
@Suite("Performing")
struct PerformTests {
  private struct Wrong: Error, Equatable { var number: Int }

  @Test("PERF-1 PERF-3 PERF-7: on another thread, whoever waits sees what it wrote")
  func onAnotherThread() throws {
    try withLoopThread { thread in
      nonisolated(unsafe) let place = UnsafeMutablePointer<Int>.allocate(capacity: 1)
      defer { place.deallocate() }
      for number in 1...100 {
        place.pointee = 0
        #expect(try thread.perform(waitUntilDone: true) { place.pointee = thread.isCurrent ? number : -1 })
        #expect(place.pointee == number)
      }
      let done = Signal()
      #expect(try thread.perform { done.signal() })
      try done.wait()
      #expect(try !thread.perform(in: [], waitUntilDone: true) { done.signal() })
      #expect(!done.isSignalled, "no modes, nothing performed")
    }
  }

  @Test("PERF-2 PERF-4 PERF-5: on one's own thread: at once with waiting, else in the next pass")
  func onOwnThread() throws {
    let log = Log()
    try onThread {
      let thread = try RunLoopThread.current()
      let loop = try RunLoop.current()
      try thread.perform { log.add("queued") }
      try thread.perform(waitUntilDone: true) { log.add("direct") }
      try thread.perform {
        log.add("asks")
        try thread.perform { log.add("asked") }
      }
      log.add("\(try loop.run(for: .zero, returnAfterSource: true))")
      log.add("\(try loop.run(for: .zero, returnAfterSource: true))")
    }
    #expect(log.all == ["direct", "queued", "asks", "handledSource", "asked", "handledSource"])
  }

  @Test("PERF-1 PERF-4 PERF-6: what waits for another mode stands in nobody's way, and keeps its mode alive")
  func modes() throws {
    let log = Log()
    try onThread {
      let thread = try RunLoopThread.current()
      let loop = try RunLoop.current()
      try thread.perform(in: ["other"]) { log.add("other") }
      try thread.perform { log.add("common") }
      try thread.perform(in: ["third", .default]) { log.add("default") }
      log.add("\(try loop.run(for: .zero, returnAfterSource: true))")
      log.add("\(try loop.run(for: .zero, returnAfterSource: true))")
      log.add("\(try loop.run(in: "other", for: .zero, returnAfterSource: true))")
      log.add("\(try loop.run(in: "other", for: .zero, returnAfterSource: true))")
    }
    #expect(log.all == ["common", "default", "handledSource", "finished", "other", "handledSource", "finished"])
  }

  /// Has a thread perform a body that holds an object.
  private func perform(on thread: RunLoopThread, holding gone: Signal, wait: Bool = false) throws {
    let tracked = Tracked(gone)
    try thread.perform(waitUntilDone: wait) { tracked.use() }
  }

  @Test("PERF-8 PERF-9: what is performed, or never will be, is released")
  func releases() throws {
    let gone = Signal()
    let idle = try RunLoopThread {}
    try perform(on: idle, holding: gone)
    #expect(!gone.isSignalled, "it waits for the thread")
    try idle.start()
    try idle.join(timeout: patience)
    #expect(gone.isSignalled, "dropped")
    #expect(status { try perform(on: idle, holding: gone) } == .closed)
    #expect(gone.isSignalled)
    #expect(status { try perform(on: idle, holding: gone, wait: true) } == .closed)
    #expect(gone.isSignalled)
    try withLoopThread { thread in
      try perform(on: thread, holding: gone)
      try gone.wait()
      try perform(on: thread, holding: gone, wait: true)
      try gone.wait()
    }
  }

  @Test("PERF-11: an error goes to whoever waits")
  func errors() throws {
    try withLoopThread { thread in
      #expect(throws: Wrong(number: 3)) { try thread.perform(waitUntilDone: true) { throw Wrong(number: 3) } }
      try thread.perform(waitUntilDone: true) {}
    }
    #expect(throws: Wrong(number: 4)) {
      try onThread { try RunLoopThread.current().perform(waitUntilDone: true) { throw Wrong(number: 4) } }
    }
  }

  @Test("PERF-12 PERF-13 PERF-14: after a delay: timer work, never before the next pass, in order")
  func delayed() throws {
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      try RunLoop.perform(after: .seconds(-1)) {
        log.add("first")
        try RunLoop.perform(after: .zero) { log.add("later") }
      }
      try RunLoop.perform(after: .seconds(-1)) { log.add("second") }
      log.add("\(try RunLoop.perform(after: .zero, in: []) { log.add("none") } == nil)")
      try RunLoop.perform(after: .zero, in: ["other"]) { log.add("other") }
      // Without an end of its own: it returns when nothing waits any more.
      log.add("\(try loop.run(for: patience, returnAfterSource: true))")
      log.add("\(try loop.run(in: "other", for: patience))")
    }
    #expect(log.all == ["true", "first", "second", "later", "finished", "other", "finished"])
  }

  @Test("PERF-15: cancelling one request, or all for a target")
  func cancelling() throws {
    let log = Log(), gone = Signal()
    try onThread {
      let loop = try RunLoop.current()
      let target = Tracked(gone), other = Tracked(gone)
      let one = try RunLoop.perform(after: .zero) { log.add("one") }
      try RunLoop.perform(after: .zero, for: target) { log.add("two") }
      try RunLoop.perform(after: .seconds(1000), for: target) { log.add("three") }
      let four = try RunLoop.perform(after: .zero, for: other) { log.add("four") }
      log.add("\(one?.cancel() == true) \(one?.cancel() == false)")
      log.add("\(try RunLoop.cancelPerforms(for: target)) \(try RunLoop.cancelPerforms(for: target))")
      log.add("\(try loop.run(for: patience))")
      log.add("\(four?.cancel() == false)")
    }
    #expect(log.all == ["true true", "true false", "four", "finished", "true"])
    try gone.wait()
    try gone.wait()
  }

  @Test("PERF-16 PERF-8: what a delay still holds back is dropped with its thread")
  func endOfThread() throws {
    let gone = Signal(), log = Log(), kept = Kept()
    try onThread {
      let tracked = Tracked(gone)
      kept.request = try RunLoop.perform(after: .seconds(1000)) {
        tracked.use()
        log.add("performed")
      }
    }
    #expect(gone.isSignalled && log.all.isEmpty)
    #expect(kept.request?.cancel() == false)
  }

  @Test("PERF-17: in the background, on a thread of its own")
  func background() throws {
    let done = Signal(), gone = Signal(), log = Log()
    let caller = kernelThreadID()
    func start() throws {
      let tracked = Tracked(gone)
      try RunLoopThread.performInBackground {
        tracked.use()
        let thread = try RunLoopThread.current()
        log.add("\(thread.isDetached) \(kernelThreadID() != caller)")
        done.signal()
      }
    }
    try start()
    try done.wait()
    try gone.wait()
    #expect(log.all == ["true true"])
  }

  /// The thread sanitizer does not let the child of a fork start threads.
  private static let isUnderThreadSanitizer = dlsym(nil, "__tsan_init") != nil

  @Test("PERF-10 THR-10 RL-3: on the main thread", .enabled(if: !isUnderThreadSanitizer))
  func onMain() async {
    await #expect(processExitsWith: .success) {
      // The tests' own main thread runs no loop; that of a child does, being the only one there.
      let child = treadle_test_fork()
      if child > 0 {
        var result: Int32 = 0
        waitpid(child, &result, 0)
        exit(result == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
      }
      alarm(UInt32(patience.components.seconds))
      demand(RunLoopThread.isMain, "not the main thread")
      let log = Log()
      let loop = try RunLoop.current()
      let keeper = try RunLoopSource { _ in }
      try loop.add(keeper)
      try RunLoopThread.performOnMain(waitUntilDone: true) { log.add("direct") }
      let other = try RunLoopThread {
        try RunLoopThread.performOnMain { log.add("queued \(RunLoopThread.isMain)") }
        try RunLoopThread.performOnMain(waitUntilDone: true) { log.add("awaited \(RunLoopThread.isMain)") }
        try RunLoopThread.main().stop()
      }
      try other.start()
      demand(try loop.run() == .stopped, "not stopped")
      try other.join(timeout: patience)
      demand(log.all == ["direct", "queued true", "awaited true"], "\(log.all)")
      _exit(EXIT_SUCCESS)
    }
  }
}

/// Written by one thread, read after a join by another.
private final class Kept: @unchecked Sendable {
  var request: RunLoopRequest?
}

/// Swift hides the C library's own, for good reason: nothing but this thread is in the child.
@_silgen_name("fork") private func treadle_test_fork() -> Int32
