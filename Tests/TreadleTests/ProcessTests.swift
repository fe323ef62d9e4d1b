// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// What concerns the whole process; so in processes of their own where it cannot be undone.
@Suite("The process", .serialized)
struct ProcessTests {
  private struct Wrong: Error {}

  @Test("THR-19 PERF-11: an error that nobody catches goes to the last resort, and no further")
  func lastResort() async {
    // The handler is the process's, and other tests have closures called that are gone, which is reported as well.
    await #expect(processExitsWith: .success) {
      let log = Log(), told = Signal(), gone = Signal()
      func install() throws {
        let tracked = Tracked(gone)
        try RunLoopLastResort.setHandler { thread, kind, message in
          tracked.use()
          log.add("\(thread?.isCurrent ?? false) \(kind): \(message)")
          told.signal()
          return true
        }
      }
      try install()
      let thread = try RunLoopThread { throw Wrong() }
      try thread.start()
      try thread.join(timeout: patience)
      try withLoopThread { thread in
        try thread.perform { throw Wrong() }
        try told.wait()
        try told.wait()
        // The thread goes on.
        try thread.perform(waitUntilDone: true) { try RunLoop.perform(after: .zero) { throw Wrong() } }
        try told.wait()
      }
      try RunLoopThread.performInBackground { throw Wrong() }
      try told.wait()
      demand(RunLoopLastResort.report(kind: "test", message: "by hand"), "not reported")
      demand(log.all == Array(repeating: "true Swift error: Wrong()", count: 4) + ["true test: by hand"], "\(log.all)")
      demand(!gone.isSignalled, "the handler is gone")
      try RunLoopLastResort.setHandler(nil)
      // The last call of it may not have returned yet.
      try gone.wait()
    }
  }

  @Test("OBJ-2: a port that has all its references is no message's port any more, and the last resort is told why")
  func references() async {
    await #expect(processExitsWith: .success) {
      let log = Log()
      try RunLoopLastResort.setHandler { _, _, message in
        log.add(message)
        return true
      }
      try onThread {
        let port = try RunLoopPort { _, message in
          var kept: [RunLoopPort] = []
          while let port = message.port { kept.append(port) }
          log.add("\(kept.count)")
          kept.removeLast()
          log.add("\(message.port != nil)")
        }
        try port.start()
        try port.send(id: 1)
        demand(try RunLoop.current().run(for: .zero) == .timedOut, "the port has gone")
      }
      let all = log.all
      demand(all.count == 3 && all[0].contains("TREADLE_E_RANGE") && Array(all[1...]) == ["32766", "true"], "\(all)")
    }
  }

  @Test("THR-19: without a handler it is one line on standard error")
  func defaultLine() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let thread = try RunLoopThread { throw Wrong() }
      try thread.start()
      try thread.join(timeout: patience)
      demand(!RunLoopLastResort.report(kind: "", message: ""), "dealt with by nobody")
      exit(EXIT_SUCCESS)
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("treadle: uncaught Swift error on thread ") && text.contains(": Wrong()\n"))
  }

  @Test("OBJ-7: a log function is told what is often a mistake, and the longest callback is timed meanwhile")
  func log() async {
    await #expect(processExitsWith: .success) {
      let log = Log(), gone = Signal()
      func install() throws {
        let tracked = Tracked(gone)
        try RunLoopLog.setHandler { message in
          tracked.use()
          log.add(message)
        }
      }
      try install()
      let code = status { _ = try RunLoopTimer(after: .zero, repeating: .seconds(-1)) { _ in } }
      demand(code == .range && log.all.count == 1 && log.all[0].contains("treadle_timer_create"), "\(log.all)")
      let loop = try RunLoop.current()
      try loop.post { RunLoopThread.sleep(for: .milliseconds(1)) }
      try loop.run(for: .zero)
      demand(loop.counters.longest >= .milliseconds(1), "\(loop.counters)")
      try RunLoopLog.setHandler(nil)
      try gone.wait()
      exit(EXIT_SUCCESS)
    }
  }

  @Test("RL-16: a trace has what ran between its start and its stop, with marks; mistakes are refused")
  func trace() async {
    await #expect(processExitsWith: .success) {
      func contents(of path: String) -> String {
        guard let file = fopen(path, "rb") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
      }
      let path = "/tmp/treadle-trace-test-\(getpid()).trace"
      let loop = try RunLoop.current()
      let bell = try RunLoopSource(label: "bell of the test") { _ in try RunLoopTrace.mark("inside", -3) }.start()
      demand(try RunLoopTrace.mark("too early") == false, "a mark without a trace")
      demand(status { try RunLoopTrace.stop() } == .state, "a stop without a trace")
      try RunLoopTrace.start(writingTo: path)
      demand(status { try RunLoopTrace.start(writingTo: path) } == .state, "a second trace")
      demand(try RunLoopTrace.mark("outside"), "a mark with a trace")
      bell.signal()
      try loop.run(for: .zero)
      try RunLoopTrace.stop()
      let written = contents(of: path)
      unlink(path)
      demand(["bell of the test", "inside", "outside"].allSatisfy(written.contains) && !written.contains("too early"), written)
      demand(status { try RunLoopTrace.start(writingTo: "a\0b") } == .argument, "a path with a NUL")
      demand(status { try RunLoopTrace.mark("a\0b") } == .argument, "a label with a NUL")
      demand(status { try RunLoopTrace.mark(String(repeating: "x", count: 256)) } == .range, "a label that is too long")
      try RunLoopTrace.start(writingTo: "/no such folder/run.trace")
      demand(status { try RunLoopTrace.stop() } == .system, "a file that cannot be written")
      exit(EXIT_SUCCESS)
    }
  }

  @Test("THR-21 PERF-9: a shutdown ends every run, and everything after it is refused")
  func shutDown() async {
    await #expect(processExitsWith: .success) {
      let inside = Signal(), go = Signal(), log = Log()
      let thread = try RunLoopThread {
        let loop = try RunLoop.current()
        let keeper = try RunLoopSource { _ in }
        try loop.add(keeper)
        log.add("\(status { try loop.run() } == .closed)")
      }
      try thread.startAndWait(timeout: patience)
      try thread.perform {
        inside.signal()
        try go.wait()
      }
      try inside.wait()
      demand(status { try RunLoop.shutDown(timeout: .zero) } == .timeout, "a callback runs")
      go.signal()
      try RunLoop.shutDown(timeout: patience)
      try thread.join(timeout: patience)
      demand(log.all == ["true"], "the run ended otherwise")
      demand(try !RunLoop.shutDown(), "there was something left")
      let late = try RunLoopThread {}
      demand(status { try late.start() } == .closed, "started")
      demand(status { try RunLoopThread.current().perform(waitUntilDone: true) {} } == .closed, "performed")
      let timer = try RunLoopTimer(after: .zero) { _ in }
      demand(!timer.fire(), "fired")
      exit(EXIT_SUCCESS)
    }
  }
}
