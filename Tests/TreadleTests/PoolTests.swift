// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

/// What is put off until a pool is closed.
@Suite("Pools")
struct PoolTests {
  private struct Wrong: Error {}

  @Test("POOL-2: a pool is closed at its end, the latest addition first")
  func order() throws {
    let log = Log()
    let result = try RunLoopPool.withPool {
      try RunLoopPool.add { log.add("first") }
      try RunLoopPool.withPool { try RunLoopPool.add { log.add("inner") } }
      try RunLoopPool.add { log.add("second") }
      log.add("end")
      return 5
    }
    #expect(result == 5)
    #expect(log.all == ["inner", "end", "second", "first"])
    #expect(throws: Wrong.self) {
      try RunLoopPool.withPool {
        try RunLoopPool.add { log.add("thrown") }
        throw Wrong()
      }
    }
    #expect(log.all.last == "thrown")
  }

  @Test("POOL-4: a thread of Treadle's has a pool around its body")
  func threads() throws {
    let log = Log()
    let thread = try RunLoopThread {
      try RunLoopPool.add { log.add("released") }
      log.add("body")
    }
    let notification = try RunLoopNotification(.threadWillExit, of: thread) { _ in log.add("will exit") }
    try thread.start()
    try thread.join(timeout: patience)
    #expect(log.all == ["body", "released", "will exit"])
    notification.remove()
  }

  @Test("POOL-2 THR-14: without an open pool, at the end of the thread")
  func basePool() throws {
    let log = Log(), ready = Signal(), go = Signal(), gone = Signal()
    let found = Found()
    let foreign = try ForeignThread {
      found.thread = try? RunLoopThread.current()
      let tracked = Tracked(gone)
      try? RunLoopPool.add {
        tracked.use()
        log.add("released")
      }
      ready.signal()
      try? go.wait()
    }
    try ready.wait()
    let notification = try RunLoopNotification(.threadWillExit, of: found.thread) { _ in log.add("will exit") }
    #expect(!gone.isSignalled)
    go.signal()
    foreign.join()
    #expect(log.all == ["will exit", "released"])
    #expect(gone.isSignalled)
    notification.remove()
  }
}

/// Written by one thread, read after a signal by another.
private final class Found: @unchecked Sendable {
  var thread: RunLoopThread?
}
