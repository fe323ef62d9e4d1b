// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// Locks and conditions over those of POSIX threads.
@Suite("Locks")
struct LockTests {
  private struct Wrong: Error {}

  @Test("THR-20: a lock knows its owner")
  func owner() throws {
    let lock = try RunLoopLock()
    let log = Log()
    #expect(status { try lock.unlock() } == .wrongThread)
    try lock.lock()
    #expect(status { try lock.lock() } == .deadlock)
    #expect(try !lock.tryLock())
    try onThread {
      log.add("\(try lock.tryLock())")
      log.add("\(status { try lock.lock(timeout: .milliseconds(1)) } == .timeout)")
      log.add("\(status { try lock.unlock() } == .wrongThread)")
    }
    #expect(log.all == ["false", "true", "true"])
    try lock.unlock()
    #expect(try lock.tryLock())
    try lock.unlock()
  }

  @Test("THR-20: a recursive lock is unlocked as often as it was locked")
  func recursive() throws {
    let lock = try RunLoopLock(isRecursive: true)
    let log = Log()
    try lock.lock()
    try lock.lock()
    #expect(try lock.tryLock())
    try lock.unlock()
    try lock.unlock()
    try onThread { log.add("\(try lock.tryLock())") }
    try lock.unlock()
    try onThread {
      log.add("\(try lock.tryLock())")
      try lock.unlock()
    }
    #expect(log.all == ["false", "true"])
    #expect(status { try lock.unlock() } == .wrongThread)
  }

  @Test("THR-20: one thread at a time, also when a body throws")
  func exclusion() throws {
    let lock = try RunLoopLock()
    nonisolated(unsafe) let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    defer { count.deallocate() }
    count.pointee = 0
    let threads = try (0..<4).map { _ in
      try RunLoopThread { for _ in 0..<1000 { try lock.withLock { count.pointee += 1 } } }
    }
    for thread in threads { try thread.start() }
    for thread in threads { try thread.join(timeout: patience) }
    #expect(try lock.withLock { count.pointee } == 4000)
    #expect(throws: Wrong.self) { try lock.withLock { throw Wrong() } }
    #expect(try lock.tryLock())
    try lock.unlock()
  }

  @Test("THR-20: a condition wakes one, or all, of those who wait with the lock")
  func condition() throws {
    let lock = try RunLoopLock()
    let condition = try RunLoopCondition()
    nonisolated(unsafe) let state = UnsafeMutablePointer<Int>.allocate(capacity: 2)
    defer { state.deallocate() }
    nonisolated(unsafe) let tickets = state, done = state + 1
    tickets.pointee = 0
    done.pointee = 0
    let finished = try RunLoopCondition()
    let threads = try (0..<3).map { _ in
      try RunLoopThread {
        try lock.withLock {
          while tickets.pointee == 0 { try condition.wait(lock, timeout: patience) }
          tickets.pointee -= 1
          done.pointee += 1
          finished.signal()
        }
      }
    }
    for thread in threads { try thread.start() }
    try lock.withLock {
      tickets.pointee = 1
      condition.signal()
      while done.pointee < 1 { try finished.wait(lock, timeout: patience) }
      #expect(done.pointee == 1 && tickets.pointee == 0)
      tickets.pointee = 2
      condition.broadcast()
      while done.pointee < 3 { try finished.wait(lock, timeout: patience) }
    }
    for thread in threads { try thread.join(timeout: patience) }
    #expect(tickets.pointee == 0)
  }

  @Test("THR-20: what a condition refuses")
  func refusals() throws {
    let lock = try RunLoopLock(isRecursive: true)
    let condition = try RunLoopCondition()
    #expect(status { try condition.wait(lock, timeout: .zero) } == .wrongThread)
    try lock.lock()
    #expect(status { try condition.wait(lock, timeout: .zero) } == .timeout)
    try lock.lock()
    #expect(status { try condition.wait(lock, timeout: patience) } == .state)
    try lock.unlock()
    // Nobody waits.
    condition.signal()
    condition.broadcast()
    try lock.unlock()
    #expect(status { try lock.unlock() } == .wrongThread, "locked again after the timeout, once")
  }
}
