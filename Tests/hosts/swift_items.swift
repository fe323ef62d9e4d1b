// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The list of host tests, in Swift: runs, modes, items and posts. Each case has a mode of its own name.
import Glibc
import Treadle

// MARK: Runs

func empty() throws {
  let loop = try RunLoop.current(), began = RunLoopInstant.now
  require(try loop.run(in: mode) == .finished)
  require(try loop.run(in: mode, for: .milliseconds(1), whenEmpty: true) == .timedOut)
  require(RunLoopInstant.now >= began + .milliseconds(1))
}
func timeLimit() throws {
  let loop = try RunLoop.current(), began = RunLoopInstant.now
  try noting("s").signal()
  require(try loop.run(in: mode, for: .zero) == .timedOut)
  said("s")
  require(try loop.run(in: mode, for: .milliseconds(5)) == .timedOut && RunLoopInstant.now >= began + .milliseconds(5))
}
func handled() throws {
  try noting("s").signal()
  require(try RunLoop.current().run(in: mode, returnAfterSource: true) == .handledSource)
  said("s")
}
func stopNothing() throws {
  require(try !RunLoop.current().stop() && pass() == .timedOut)
}
func stopAll() throws {
  let loop = try RunLoop.current()
  _ = try added(
    RunLoopTimer(after: .zero) { _ in
      loop.requestStop(allLevels: true)
      require(try loop.run(in: "inner", whenEmpty: true) == .stopped)
      told.note("inner")
    })
  require(try loop.run(in: mode, whenEmpty: true) == .stopped)
  said("inner")
}
func wake() throws {
  let loop = try RunLoop.current()
  _ = try added(
    RunLoopObserver(of: .beforeWaiting) { _, _ in
      told.note("w")
      if told.words.count < 3 { loop.wakeUp() } else { loop.stop() }
    })
  require(try loop.run(in: mode, whenEmpty: true) == .stopped)
  said("www")
}

// MARK: Modes

func modes() throws {
  let loop = try RunLoop.current()
  let source = try noting("s")
  require(try !loop.add(source, to: mode) && loop.contains(source, in: mode) && !loop.contains(source, in: "other"))
  source.signal()
  try pass("other")
  said("")
  require(try pass() == .timedOut)
  said("s")
  require(loop.remove(source, from: mode) && !loop.remove(source, from: mode) && !loop.contains(source, in: mode))
}
func common() throws {
  let loop = try RunLoop.current()
  let source = try RunLoopSource { _ in told.note("s") }
  require(try loop.add(source, to: .common) && !loop.contains(source, in: mode) && loop.addCommonMode(mode))
  require(loop.contains(source, in: mode) && loop.contains(source))
  source.signal()
  require(try pass() == .timedOut)
  said("s")
  require(loop.remove(source, from: .common) && !loop.contains(source, in: mode))
}
func twoLoops() throws {
  let loop = try RunLoop.current()
  let worker = try RunLoopThread.startWorker()
  let timer = try added(RunLoopTimer(after: .seconds(1000)) { _ in told.note("t") }), other = try worker.loop
  require(try !other.add(timer, to: mode) && loop.contains(timer, in: mode) && !other.contains(timer, in: mode))
  try worker.stopAndJoin()
}
func invalid() throws {
  let loop = try RunLoop.current()
  let source = try noting("s")
  source.signal()
  source.invalidate()
  source.invalidate()
  require(!source.isValid && !source.isSignalled && !loop.contains(source, in: mode))
  require(try !source.signal() && !loop.add(source, to: mode) && loop.run(in: mode) == .finished)
  said("")
}
func endOther() throws {
  let loop = try RunLoop.current()
  for _ in 0..<2 {
    _ = try added(
      RunLoopTimer(after: .zero) { _ in
        told.note("t")
        for item in try loop.items(in: mode) { item.invalidate() }
      })
  }
  require(try loop.run(in: mode) == .finished)
  said("t")
}

// MARK: Sources

func signalKept() throws {
  let source = try RunLoopSource { _ in told.note("s") }
  source.signal()
  require(source.isSignalled)
  _ = try added(source)
  require(try pass() == .timedOut)
  said("s")
}
func coalesce() throws {
  let source = try noting("s")
  for _ in 0..<3 { source.signal() }
  require(source.isSignalled)
  for _ in 0..<2 { try pass() }
  require(!source.isSignalled)
  said("s")
}
func selfSignal() throws {
  for word in ["a", "b"] {
    try added(
      RunLoopSource {
        told.note(word)
        $0.signal()
      }
    ).signal()
  }
  for _ in 0..<3 { try pass() }
  said("ababab")
}

// MARK: Timers

func timerAgain() throws {
  let loop = try RunLoop.current()
  let timer = try added(
    RunLoopTimer(after: .zero) {
      told.note("t")
      if told.words.count == 1 { $0.arm(after: .microseconds(1)) }
    })
  require(try loop.run(in: mode) == .finished && timer.isValid && timer.nextFire == nil)
  said("tt")
  require(try timer.arm(after: .microseconds(1)) && loop.run(in: mode) == .finished)
  said("ttt")
}
func timerNone() throws {
  let loop = try RunLoop.current()
  let timer = try added(RunLoopTimer(after: .seconds(1000)) { _ in told.note("t") })
  require(try loop.run(in: mode, for: .zero) == .timedOut)
  timer.disarm()
  require(try timer.nextFire == nil && loop.run(in: mode) == .finished)
  said("")
}
func timerEnds() throws {
  let timer = try added(RunLoopTimer(after: .zero, endsAfterFiring: true) { told.note($0.isValid ? "t" : "?") })
  require(try RunLoop.current().run(in: mode) == .finished && !timer.isValid && !timer.arm(after: .zero))
  said("t")
}
func timerMoved() throws {
  let loop = try RunLoop.current()
  let timer = try added(RunLoopTimer(after: .seconds(1000)) { _ in told.note("t") })
  let thread = try RunLoopThread {
    while !loop.isWaiting { sched_yield() }
    timer.nextFire = .now
  }
  try thread.start()
  require(try loop.run(in: mode) == .finished)
  said("t")
  try thread.join()
}
func timerByHand() throws {
  let timer = try RunLoopTimer(after: .seconds(1000), repeating: .seconds(10)) { _ in told.note("t") }
  let date = timer.nextFire
  require(timer.fire() && timer.nextFire == date)
  said("t")
  timer.invalidate()
  require(!timer.fire())
  said("t")
}

// MARK: Observers

func observerOnce() throws {
  let observer = try added(RunLoopObserver(once: true) { _, _ in told.note("o") })
  for _ in 0..<2 { try pass() }
  require(!observer.isValid)
  said("o")
}
func observerOrder() throws {
  let rows: [(String, RunLoopActivity, Int64)] = [("a", [.entry, .exit], 1), ("b", [.entry, .exit], 0), ("c", .entry, 0)]
  for (word, activities, order) in rows { _ = try added(RunLoopObserver(of: activities, order: order) { _, _ in told.note(word) }) }
  try pass()
  said("bcaba")
}

// MARK: Descriptors

func watched(_ descriptor: Int32) throws -> RunLoopDescriptor {
  try RunLoopDescriptor(descriptor) { _, events in told.note(events.contains(.readable) ? "r" : "h") }
}
func piped() -> [Int32] {
  var both: [Int32] = [0, 0]
  require(pipe(&both) == 0)
  ends.append { both.forEach { close($0) } }
  return both
}
func descriptorReady() throws {
  let both = piped()
  _ = try added(watched(both[0]))
  try pass()
  said("")
  require(write(both[1], "x", 1) == 1)
  for _ in 0..<2 { try pass() }
  said("rr")
  var letter: UInt8 = 0
  require(read(both[0], &letter, 1) == 1)
  try pass()
  said("rr")
}
func descriptorPaused() throws {
  let both = piped()
  require(write(both[1], "x", 1) == 1)
  let descriptor = try added(watched(both[0]))
  try descriptor.setReadiness([])
  require(try RunLoop.current().run(in: mode, for: .zero) == .timedOut)
  said("")
  try descriptor.setReadiness(.readable)
  try pass()
  said("r")
}
func descriptorEnd() throws {
  let both = piped()
  _ = try added(watched(both[0]))
  close(both[1])
  try pass()
  require(told.words.count == 1, told.words)
}
func descriptorTwice() throws {
  let second = try watched(0)
  _ = try added(watched(0))
  refuses(.exists, "fd") { try RunLoop.current().add(second, to: mode) }
}
func descriptorClosed() { refuses(.argument, "fd") { _ = try watched(123456) } }

// MARK: Posts and what is told

func postModes() throws {
  let loop = try RunLoop.current()
  for (word, of) in [("a", mode), ("b", "other"), ("c", mode)] { try loop.post(in: [of]) { told.note(word) } }
  try pass()
  said("ac")
  try pass("other")
  said("acb")
}
func postInside() throws {
  let loop = try RunLoop.current()
  try loop.post {
    told.note("a")
    try loop.post { told.note("c") }
  }
  try loop.post { told.note("b") }
  for _ in 0..<2 { try pass(.default) }
  said("abc")
}
func describe() throws {
  let source = try RunLoopSource(label: "bell") { _ in }
  require(source.description.hasPrefix("source \"bell\"") && !source.description.contains("invalid"), "\(source)")
  source.invalidate()
  require(source.description.contains("bell") && source.description.contains("invalid"), "\(source)")
}
func label() { refuses(.range, "label") { _ = try RunLoopSource(label: String(repeating: "x", count: 256)) { _ in } } }
func refused() { refuses(.range, "interval") { _ = try RunLoopTimer(after: .zero, repeating: .seconds(-1)) { _ in } } }

let itemCases: [String: @Sendable () throws -> Void] = [
  "empty": empty, "time-limit": timeLimit, "handled": handled, "stop-nothing": stopNothing, "stop-all": stopAll, "wake": wake,
  "modes": modes, "common": common, "two-loops": twoLoops, "invalid": invalid, "end-other": endOther, "signal-kept": signalKept,
  "coalesce": coalesce, "self-signal": selfSignal, "timer-again": timerAgain, "timer-none": timerNone, "timer-ends": timerEnds,
  "timer-moved": timerMoved, "timer-by-hand": timerByHand, "observer-once": observerOnce, "observer-order": observerOrder,
  "descriptor-ready": descriptorReady, "descriptor-paused": descriptorPaused, "descriptor-end": descriptorEnd,
  "descriptor-twice": descriptorTwice, "descriptor-closed": descriptorClosed, "post-modes": postModes, "post-inside": postInside,
  "describe": describe, "label": label, "refused": refused,
]
