// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

/// The Swift face of the library, as a client of the package sees it.
@Suite("Swift clients", .serialized)
struct RunLoopTests {
  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
    func add() { value.add(1, ordering: .relaxed) }
    var count: Int { value.load(ordering: .relaxed) }
  }

  @Test("SRC0-3 SRC0-7 SRC0-14: a source is scheduled, performed once a signal, and cancelled")
  func source() throws {
    let loop = try RunLoop.current()
    let scheduled = Counter(), cancelled = Counter(), performed = Counter()
    let source = try RunLoopSource(
      schedule: { _, mode in if mode == "swift" { scheduled.add() } }, cancel: { _, _ in cancelled.add() },
      perform: { _ in performed.add() })
    #expect(try loop.add(source, to: "swift"))
    #expect(try !loop.add(source, to: "swift"), "twice is once")
    #expect(loop.contains(source, in: "swift"))
    source.signal()
    source.signal()
    #expect(source.isSignalled)
    #expect(try loop.run(in: "swift", for: .zero) == .timedOut)
    #expect(performed.count == 1 && !source.isSignalled)
    source.invalidate()
    #expect(scheduled.count == 1 && cancelled.count == 1 && !source.isValid)
    #expect(try loop.run(in: "swift") == .finished)
  }

  @Test("RL-10 RUN-10: a run that says so waits in an empty mode")
  func whenEmpty() throws {
    let loop = try RunLoop.current()
    #expect(try loop.run(in: "nothing") == .finished)
    #expect(try loop.run(in: "nothing", for: .milliseconds(1), whenEmpty: true) == .timedOut)
  }

  @Test("TMR-15 TMR-16 TMR-22 TMR-24: timers fire, once or again and again")
  func timers() throws {
    let loop = try RunLoop.current()
    let once = Counter(), often = Counter()
    let single = try RunLoopTimer(after: .zero) { _ in once.add() }
    let repeating = try RunLoopTimer(after: .zero, repeating: .microseconds(100)) { _ in
      often.add()
      if often.count == 3 { try RunLoop.current().stop() }
    }
    try loop.add(single, to: "timers")
    try loop.add(repeating, to: "timers")
    #expect(try loop.run(in: "timers") == .stopped)
    #expect(once.count == 1 && often.count == 3 && single.isValid && single.nextFire == nil && repeating.isValid)
    repeating.invalidate()
  }

  @Test("OBS-1 OBS-9: an observer sees the run begin and end")
  func observer() throws {
    let loop = try RunLoop.current()
    nonisolated(unsafe) let place = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
    place.pointee = 0
    defer { place.deallocate() }
    let observer = try RunLoopObserver { place.pointee |= $1.rawValue }
    let source = try RunLoopSource { _ in }
    try loop.add(observer, to: "observed")
    try loop.add(source, to: "observed")
    #expect(try loop.run(in: "observed", for: .zero) == .timedOut)
    #expect(place.pointee == (RunLoopActivity.entry.rawValue | 2 | 4 | RunLoopActivity.exit.rawValue))
    observer.invalidate()
    source.invalidate()
  }

  @Test("SRC1-2 SRC1-10: a descriptor is watched, and left for the client to read")
  func descriptor() throws {
    let loop = try RunLoop.current()
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    defer { ends.forEach { _ = close($0) } }
    let ready = Counter()
    let source = try RunLoopDescriptor(ends[0]) { _, readiness in if readiness.contains(.readable) { ready.add() } }
    try loop.add(source, to: "pipe")
    #expect(try loop.run(in: "pipe", for: .zero) == .timedOut)
    #expect(ready.count == 0)
    #expect(write(ends[1], "x", 1) == 1)
    #expect(try loop.run(in: "pipe", returnAfterSource: true) == .handledSource)
    #expect(try loop.run(in: "pipe", returnAfterSource: true) == .handledSource, "nobody has read it")
    #expect(ready.count == 2)
    source.invalidate()
    #expect(throws: TreadleError.self) { try RunLoopDescriptor(-1) { _, _ in } }
  }

  @Test("BLK-1 BLK-3 WAKE-1: blocks from another thread run on the loop's, in order")
  func blocks() throws {
    let loop = try RunLoop.current()
    let keeper = try RunLoopSource { _ in }
    try loop.add(keeper)
    defer { keeper.invalidate() }
    let count = Counter()
    var thread = pthread_t()
    let work: @Sendable () -> Void = {
      for index in 0..<100 {
        try? loop.post {
          if count.count == index { count.add() }
          if index == 99 { loop.stop() }
        }
      }
    }
    let box = Unmanaged.passRetained(Work(work)).toOpaque()
    #expect(
      pthread_create(
        &thread, nil,
        { info in
          if let info { Unmanaged<Work>.fromOpaque(info).takeRetainedValue().body() }
          return nil
        }, box) == 0)
    #expect(try loop.run() == .stopped)
    #expect(count.count == 100)
    pthread_join(thread, nil)
  }

  @Test("RL-12, OBJ-3: a loop gives its items, and tells of them by their labels")
  func itemsAndLabels() throws {
    let loop = try RunLoop.current()
    let source = try RunLoopSource(order: 4, label: "bell") { _ in }
    let timer = try RunLoopTimer(after: .seconds(3600), label: "tick") { _ in }
    try loop.add(source, to: "listed")
    try loop.add(timer, to: "listed")
    try loop.add(source, to: "another")
    #expect(try loop.items(in: "listed") == [source, timer] && loop.items(in: "listed").last is RunLoopTimer)
    #expect(try loop.items().count == 2 && loop.items(in: "unknown").isEmpty)
    #expect(source.description.hasPrefix("source \"bell\" 0x") && source.description.contains("in mode \"listed\""))
    #expect(loop.description.contains("mode \"listed\"\n    source \"bell\""))
    #expect(throws: TreadleError.self) { try RunLoopSource(label: String(repeating: "x", count: 256)) { _ in } }
    #expect(try loop.run(in: "nowhere") == .finished && loop.counters.lastFinish == .unknownMode)
    source.signal()
    let before = loop.counters
    #expect(try loop.run(in: "listed", for: .zero) == .timedOut)
    #expect(loop.counters.signals == before.signals + 1 && loop.counters.passes == before.passes + 1)
    for item in try loop.items() { item.invalidate() }
    #expect(!source.isValid && !timer.isValid)
  }
}

/// A closure for a thread's start routine.
private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
