// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

/// What Treadle tells the whole process.
@Suite("Notifications")
struct NotificationTests {
  @Test("THR-14 NOTE-1: a thread's end is told once, on the thread, before it has finished")
  func threadWillExit() throws {
    let log = Log()
    let thread = try RunLoopThread { log.add("body") }
    let notification = try RunLoopNotification(.threadWillExit, of: thread) { told in
      guard let told else { return log.add("nobody") }
      log.add("\((try? RunLoopThread.current()) == told) \(told.isExecuting) \(told.isFinished)")
    }
    let other = try RunLoopThread {}
    try other.start()
    try other.join(timeout: patience)
    try thread.start()
    try thread.join(timeout: patience)
    #expect(log.all == ["body", "true true false"])
    notification.remove()
    notification.remove()
  }

  @Test("THR-14 THR-9: the end of a thread that others started is told, too")
  func foreignThread() throws {
    let log = Log(), found = Found()
    let foreign = try ForeignThread {
      found.thread = try? RunLoopThread.current()
      found.notification = try? RunLoopNotification(.threadWillExit, of: found.thread) { told in
        log.add("\((try? RunLoopThread.current()) == told) \(told?.isExecuting ?? false)")
      }
    }
    foreign.join()
    #expect(log.all == ["true true"])
    #expect(found.thread?.isFinished == true)
  }

  @Test("NOTE-1: in the order of registration; not those who come or go meanwhile")
  func order() throws {
    let log = Log(), found = Found()
    let thread = try RunLoopThread {}
    let first = try RunLoopNotification(.threadWillExit, of: thread) { told in
      log.add("first")
      found.others.removeLast()
      found.notification = try? RunLoopNotification(.threadWillExit, of: told) { _ in log.add("added") }
    }
    for name in ["second", "third"] {
      found.others.append(try RunLoopNotification(.threadWillExit, of: thread) { _ in log.add(name) })
    }
    try thread.start()
    try thread.join(timeout: patience)
    #expect(log.all == ["first", "second"])
    first.remove()
  }

  @Test("PORT-2 NOTE-1: a port's end is told once, when it has left its loop, on the thread that ends it")
  func portInvalid() throws {
    try withLoopThread { worker in
      let loop = try worker.loop, log = Log(), all = Log()
      let port = try RunLoopPort(label: "inbox") { _, _ in }, other = try RunLoopPort { _, _ in }
      try loop.add(port)
      let one = try RunLoopNotification(.portInvalid, of: port) { [hash = port.hashValue] told in
        log.add("\(told?.hashValue == hash) \(told?.isValid == false) \(told.map { loop.contains($0) } == false) \(loop.isCurrent)")
      }
      let any = try RunLoopNotification(.portInvalid) { told in if told == port { all.add("told") } }
      other.invalidate()
      #expect(log.all.isEmpty)
      try worker.perform(waitUntilDone: true) { port.invalidate() }
      port.invalidate()
      #expect(log.all == ["true true true true"] && all.all == ["told"])
      #expect("\(one)".hasPrefix("RunLoopNotification(portInvalid, "))
      one.remove()
      any.remove()
    }
    // A registration keeps no port: one that its last reference has ended is gone when that is told.
    let log = Log()
    var port: RunLoopPort? = try RunLoopPort { _, _ in }
    let told = try RunLoopNotification(.portInvalid, of: port) { told in log.add("\(told == nil)") }
    #expect(port != nil && log.all.isEmpty)
    port = nil
    #expect(log.all == ["true"])
    told.remove()
  }

  /// A registration whose body holds an object.
  private func register(holding gone: Signal, of thread: RunLoopThread) throws -> RunLoopNotification {
    let tracked = Tracked(gone)
    return try RunLoopNotification(.threadWillExit, of: thread) { _ in tracked.use() }
  }

  @Test("NOTE-1: a registration ends with its object, and gives back what it holds")
  func end() throws {
    let gone = Signal()
    let thread = try RunLoopThread {}
    var notification: RunLoopNotification? = try register(holding: gone, of: thread)
    #expect(notification != nil && !gone.isSignalled)
    notification = nil
    #expect(gone.isSignalled)
    let removed = try register(holding: gone, of: thread)
    removed.remove()
    #expect(gone.isSignalled)
  }
}

/// Used by one thread at a time: the one that the test waits for, then the test's.
private final class Found: @unchecked Sendable {
  var thread: RunLoopThread?
  var notification: RunLoopNotification?
  var others: [RunLoopNotification] = []
}
