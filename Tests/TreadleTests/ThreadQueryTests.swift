// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// Which thread is which, and what each one carries.
@Suite("What threads know")
struct ThreadQueryTests {
  @Test("THR-9 THR-14 THR-20: every thread has one object, also one that others started")
  func current() throws {
    let log = Log(), found = Found()
    let thread = try RunLoopThread {
      found.thread = try RunLoopThread.current()
      log.add("\(try RunLoopThread.current() == RunLoopThread.current())")
    }
    try thread.start()
    try thread.join(timeout: patience)
    #expect(found.thread == thread && found.thread?.hashValue == thread.hashValue && log.all == ["true"])
    #expect(!thread.isCurrent)

    let foreign = try ForeignThread {
      guard let thread = try? RunLoopThread.current() else { return }
      found.thread = thread
      let isSame = (try? RunLoopThread.current()) == thread
      let join = status { try thread.join() }
      log.add("\(isSame) \(thread.isCurrent) \(thread.isExecuting) \(thread.isDetached) \(join == .state)")
    }
    foreign.join()
    #expect(log.all.last == "true true true true true")
    #expect(found.thread?.isFinished == true && found.thread?.isExecuting == false)
  }

  @Test("THR-10: the main thread is the same from everywhere, and executes from the beginning")
  func main() throws {
    let log = Log()
    let main = try RunLoopThread.main()
    #expect(try main == RunLoopThread.main())
    #expect(main.isMain && main.isExecuting && !main.isFinished)
    #expect(RunLoopThread.isMain == (kernelThreadID() == getpid()))
    try onThread {
      let current = try RunLoopThread.current()
      log.add("\(RunLoopThread.isMain) \(current.isMain) \(try RunLoopThread.main().isMain) \(current == main)")
    }
    #expect(log.all == ["false false true false"])
  }

  @Test("THR-12: a dictionary lives with its thread, and others read it")
  func dictionary() throws {
    let began = Signal(), go = Signal(), gone = Signal(), log = Log()
    let thread = try RunLoopThread {
      let current = try RunLoopThread.current()
      current["number"] = 42
      current["tracked"] = Tracked(gone)
      began.signal()
      try go.wait()
    }
    let exit = try RunLoopNotification(.threadWillExit, of: thread) { thread in
      log.add("\(thread?["number"] as? Int ?? 0) \(gone.isSignalled)")
    }
    #expect(thread["number"] == nil)
    thread["early"] = "before the start"
    try thread.start()
    try began.wait()
    #expect(thread["number"] as? Int == 42 && thread["early"] as? String == "before the start")
    thread["early"] = nil
    #expect(thread["early"] == nil)
    #expect(thread["tracked"] is Tracked)
    #expect(status { try thread.setValue(1, forKey: "a\0b") } == .argument)
    go.signal()
    try thread.join(timeout: patience)
    #expect(gone.isSignalled && log.all == ["42 false"])
    #expect(thread["number"] == nil)
    #expect(status { try thread.setValue(1, forKey: "late") } == .state)
    thread["late"] = 1
    #expect(thread["late"] == nil)
    exit.remove()
  }

  @Test("THR-13: attributes within their ranges, before the start")
  func attributes() throws {
    let go = Signal(), log = Log()
    let thread = try RunLoopThread(
      name: "žluťoučký kůň", stackSize: 65_536, priority: 0.25
    ) {
      log.add(kernelName())
      try go.wait()
    }
    for size in [0, 1, -4096, 16_383, 16_385, 2 << 30] {
      #expect(status { try thread.setStackSize(size) } == .range)
    }
    #expect(thread.stackSize == 65_536 && thread.priority == 0.25)
    #expect(status { try thread.setPriority(.nan) } == .argument)
    try thread.setPriority(-1)
    #expect(thread.priority == 0)
    try thread.setPriority(2)
    #expect(thread.priority == 1)
    try thread.setPriority(0.25)
    #expect(thread.policy == .default && !thread.isPriorityApplied)
    #expect(status { try thread.setName("a\0b") } == .argument)
    #expect(status { try thread.setName(String(repeating: "x", count: 65_536)) } == .range)
    #expect(thread.name == "žluťoučký kůň")
    try thread.start()
    #expect(status { try thread.setStackSize(16_384) } == .state)
    #expect(status { try thread.setPolicy(.fifo) } == .state)
    #expect(status { try thread.setPriority(0.5) } == .state)
    go.signal()
    try thread.join(timeout: patience)
    #expect(log.all == ["žluťoučký k"], "whole characters of the first 15 bytes")
    #expect(thread.stackSize == 65_536 && thread.priority == 0.25 && thread.isPriorityApplied)
    try thread.setName("")
    #expect(thread.name.isEmpty)
  }

  @Test("THR-13: a policy that is not permitted does not keep a thread from running")
  func policy() throws {
    let ran = Signal()
    let thread = try RunLoopThread(priority: 0.5, policy: .roundRobin) { ran.signal() }
    #expect(thread.policy == .roundRobin)
    try thread.start()
    try thread.join(timeout: patience)
    #expect(ran.isSignalled && thread.policy == .roundRobin)
  }

  @Test("THR-15: a sleep is at least as long as asked for")
  func sleep() {
    let before = RunLoopInstant.now
    RunLoopThread.sleep(for: .milliseconds(2))
    #expect(RunLoopInstant.now >= before + .milliseconds(2))
    RunLoopThread.sleep(until: before + .milliseconds(4))
    #expect(RunLoopInstant.now >= before + .milliseconds(4))
    // Dates that have passed: these return at all.
    RunLoopThread.sleep(for: .zero)
    RunLoopThread.sleep(for: .seconds(-1_000_000))
    RunLoopThread.sleep(until: .distantPast)
  }

  @Test("THR-20: the pthread_t and the kernel's id")
  func native() throws {
    let began = Signal(), go = Signal(), found = Found()
    let thread = try RunLoopThread {
      found.pthread = pthread_self()
      found.id = kernelThreadID()
      began.signal()
      try go.wait()
    }
    #expect(status { _ = try thread.pthread } == .state)
    #expect(thread.kernelID == 0)
    try thread.start()
    try began.wait()
    #expect(try thread.pthread == found.pthread)
    #expect(thread.kernelID == found.id)
    go.signal()
    try thread.join(timeout: patience)
    #expect(status { _ = try thread.pthread } == .state)
    #expect(thread.kernelID == 0)
  }

  @Test("RL-9 PERF-3: a thread's loop is there before the thread, and refused after it")
  func loopOfThread() throws {
    let log = Log()
    let thread = try RunLoopThread {
      let loop = try RunLoop.current()
      log.add("\(try loop.run(for: .zero, returnAfterSource: true))")
    }
    try thread.loop.post(in: [.default]) { log.add("block") }
    try thread.start()
    try thread.join(timeout: patience)
    #expect(log.all.first == "block")
    #expect(status { _ = try thread.loop } == .state)
  }

  @Test("THR-11: one thread makes a process multi-threaded, but not one that others start")
  func firstThread() async {
    await #expect(processExitsWith: .success) {
      let log = Log(), done = Signal()
      demand(!RunLoopThread.isMultiThreaded, "is multi-threaded from the beginning")
      let foreign = try ForeignThread { _ = try? RunLoopThread.current() }
      foreign.join()
      demand(!RunLoopThread.isMultiThreaded, "a foreign thread counts")
      let starter = Found()
      let notification = try RunLoopNotification(.willBecomeMultiThreaded) { thread in
        let isHere = kernelThreadID() == starter.id
        log.add("\(thread == nil) \(isHere) \(RunLoopThread.isMultiThreaded) \(done.isSignalled)")
      }
      starter.id = kernelThreadID()
      for _ in 0..<2 {
        let thread = try RunLoopThread { done.signal() }
        try thread.start()
        try thread.join(timeout: patience)
      }
      demand(log.all == ["true true true false"], "told \(log.all)")
      notification.remove()
      exit(EXIT_SUCCESS)
    }
  }
}

/// What a thread finds out; read when it is certain that it has.
private final class Found: @unchecked Sendable {
  var thread: RunLoopThread?
  var pthread: UInt = 0
  var id: Int32 = 0
}
