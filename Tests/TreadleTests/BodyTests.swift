// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import TestSupport
import Treadle

/// Bodies: what they are given, what they may keep; and what an error says.
@Suite("Bodies and errors", .serialized)
struct BodyTests {
  @Test("TMR-19 OBJ-9: a body gets its item, which may end itself")
  func ownItem() throws {
    let log = Log()
    try onThread {
      try RunLoopTimer(after: .zero, repeating: .microseconds(50), label: "beat") { timer in
        log.add(String("\(timer)".prefix(12)))
        if log.all.count == 3 { timer.invalidate() }
      }.start()
      #expect(try RunLoop.current().run() == .finished)
    }
    #expect(log.all == Array(repeating: "timer \"beat\" ", count: 3).map { String($0.prefix(12)) })
  }

  @Test("OBJ-3 OBJ-4: an item that a body keeps lives on; one that nobody keeps is gone")
  func keptItem() throws {
    let kept = Kept(), gone = Signal()
    try onThread {
      let loop = try RunLoop.current()
      try self.startTimer(keeping: kept, holding: Tracked(gone))
      try loop.run(for: .zero)
      let timer = try #require(kept.timer)
      #expect(timer.isValid && !gone.isSignalled && loop.contains(timer))
      #expect(timer.arm(after: .zero))
      kept.timer = nil
      #expect(timer.isValid)
    }
    #expect(gone.isSignalled)
  }

  private func startTimer(keeping kept: Kept, holding tracked: Tracked) throws {
    try RunLoopTimer(after: .zero) { timer in
      tracked.use()
      kept.timer = timer
    }.start()
  }

  @Test("An error is a sentence that names the argument, with a code")
  func sentences() throws {
    let error = try #require(throws: TreadleError.self) { try RunLoopDescriptor(-1) { _, _ in } }
    #expect(error.code == .argument && error.message.contains("fd") && error.errno == 0)
    #expect("\(error)" == "\(error.message) (TREADLE_E_ARG)")
    let empty = try #require(throws: TreadleError.self) { try RunLoopDescriptor(0, for: []) { _, _ in } }
    #expect(empty.code == .argument && empty.message.contains("events"))
    let loop = try RunLoop.current()
    let wrong = try #require(throws: TreadleError.self) { try onThread { try loop.run() } }
    #expect(wrong.code == .wrongThread)
    #expect(TreadleError.Code(rawValue: -9999).description == "unknown")
  }

  @Test("OBJ-1: two references to one item are equal")
  func equality() throws {
    let loop = try RunLoop.current()
    let source = try RunLoopSource { _ in }
    try loop.add(source, to: "equal")
    let other = try #require(loop.items(in: "equal").first)
    #expect(other == source && other !== source && other.hashValue == source.hashValue && other is RunLoopSource)
    #expect(try loop == RunLoop.current() && RunLoop.current().hashValue == loop.hashValue)
    try source.close()
    #expect(status { try source.start() } == .state)
  }
}

/// Touched by one thread.
private final class Kept: @unchecked Sendable {
  var timer: RunLoopTimer?
}
