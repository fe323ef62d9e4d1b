// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

private struct Wrong: Error {}

/// Bodies that throw: in a process of their own, whose last-resort handler is theirs.
@Suite("Bodies that throw")
struct ThrowingTests {
  /// Every kind of body, each thrown out of once by its cause.
  private static let causes: [(kind: String, cause: @Sendable (RunLoop) throws -> Void)] = [
    ("a source's perform", { loop in
      let source = try RunLoopSource { _ in throw Wrong() }.start()
      source.signal()
      try loop.run(for: .zero)
      source.invalidate()
    }),
    ("a source's schedule", { _ in try RunLoopSource(schedule: { _, _ in throw Wrong() }) { _ in }.start().invalidate() }),
    ("a source's cancel", { _ in try RunLoopSource(cancel: { _, _ in throw Wrong() }) { _ in }.start().invalidate() }),
    ("a timer", { loop in
      try RunLoopTimer(after: .zero, endsAfterFiring: true) { _ in throw Wrong() }.start()
      try loop.run(for: .zero)
    }),
    ("a timer that is fired by hand", { _ in _ = try RunLoopTimer(after: .seconds(60)) { _ in throw Wrong() }.fire() }),
    ("an observer", { loop in
      try RunLoopObserver(of: .exit, once: true) { _, _ in throw Wrong() }.start()
      try loop.run(for: .zero)
    }),
    ("a descriptor", { loop in
      let null = open("/dev/null", O_RDONLY)
      let descriptor = try RunLoopDescriptor(null) { _, _ in throw Wrong() }.start()
      try loop.run(for: .zero)
      descriptor.invalidate()
      close(null)
    }),
    ("a port", { loop in
      let port = try RunLoopPort { _, _ in throw Wrong() }.start()
      try port.send(id: 1)
      try loop.run(for: .zero)
      port.invalidate()
    }),
    ("a message port", { _ in
      let name = "treadle.throwing.\(getpid())"
      let port = try RunLoopMessagePort(serving: name) { _, _ in throw Wrong() }.start()
      demand(try RunLoopMessagePort(sendingTo: name).request(in: .default).isEmpty, "not the empty reply")
      port.invalidate()
    }),
    ("a message port's end", { _ in
      try RunLoopMessagePort(serving: nil, invalidated: { _ in throw Wrong() }) { _, _ in nil }.invalidate()
    }),
    ("a post", { loop in
      try loop.post { throw Wrong() }
      try loop.run(for: .zero)
    }),
    ("a perform in order", { loop in
      try loop.perform(order: 1) { throw Wrong() }
      try loop.run(for: .zero)
    }),
    ("a perform on the own thread", { loop in
      try RunLoopThread.current().perform { throw Wrong() }
      try loop.run(for: .zero)
    }),
    ("a delayed perform", { loop in
      try RunLoop.perform(after: .zero) { throw Wrong() }
      try loop.run(for: .zero)
    }),
    ("a thread", { _ in
      let thread = try RunLoopThread { throw Wrong() }
      try thread.start()
      try thread.join(timeout: patience)
    }),
    ("a notification", { _ in
      let thread = try RunLoopThread {}
      let notification = try RunLoopNotification(.threadWillExit, of: thread) { _ in throw Wrong() }
      try thread.start()
      try thread.join(timeout: patience)
      notification.remove()
    }),
    ("a notification of a port", { _ in
      let port = try RunLoopPort { _, _ in }
      let notification = try RunLoopNotification(.portInvalid, of: port) { _ in throw Wrong() }
      port.invalidate()
      notification.remove()
    }),
    ("what a pool puts off", { _ in try RunLoopPool.withPool { try RunLoopPool.add { throw Wrong() } } }),
    ("a closure", { _ in
      let closure = try RunLoopClosure(default: 7 as Int32) { (_: Int32) -> Int32 in throw Wrong() }
      try closure.function.withPointer(as: (@convention(c) (Int32) -> Int32).self) { demand($0(1) == 7, "not the default result") }
    }),
    ("a closure that is carried", { loop in
      let closure = try RunLoopClosure(.carried(to: loop, wait: .none)) { (_: Int32) throws -> Void in throw Wrong() }
      try closure.function.withPointer(as: (@convention(c) (Int32) -> Void).self) { $0(1) }
      try loop.run(for: .zero)
    }),
  ]

  @Test("THR-19 PERF-11: what a body of any kind throws goes to the last resort once, on its thread, and the loop goes on")
  func lastResort() async {
    await #expect(processExitsWith: .success) {
      let log = Log()
      try RunLoopLastResort.setHandler { thread, kind, message in
        log.add("\(kind): \(message) \(thread?.isCurrent == true)")
        return true
      }
      let loop = try RunLoop.current()
      try RunLoopSource { _ in }.start()
      for (kind, cause) in ThrowingTests.causes {
        let before = log.all.count
        try cause(loop)
        let told = Array(log.all.dropFirst(before))
        demand(told == ["Swift error: Wrong() true"], "\(kind): \(told)")
        let after = Signal()
        try loop.post { after.signal() }
        demand(try loop.run(for: .zero) == .timedOut && after.isSignalled, "\(kind): the loop does not go on")
      }
    }
  }

  @Test("PERF-11: what is performed and waited for throws at who waits")
  func waited() throws {
    try withLoopThread { thread in
      #expect(throws: Wrong.self) { try thread.perform(waitUntilDone: true) { throw Wrong() } }
      try thread.perform(waitUntilDone: true) {}
    }
    #expect(throws: Wrong.self) { try RunLoopPool.withPool { throw Wrong() } }
    #expect(throws: Wrong.self) { try RunLoopScope().enter { throw Wrong() } }
    #expect(throws: Wrong.self) { try RunLoopLock().withLock { throw Wrong() } }
  }
}
