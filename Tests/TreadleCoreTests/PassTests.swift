// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TestSupport
import Testing

@testable import TreadleCore
@testable import TreadleBase

/// The order of a run, step by step, without calling anybody and without sleeping: `advance` says what is next, and
/// what is in a batch is taken out of it, but not called.
@Suite("The order of a pass")
struct PassTests {
  /// A mode of the calling thread's loop, with one observer of everything.
  private struct Scene {
    let loop: Loop
    let mode: Mode
    let frame: Frame.Pointer

    /// What `advance` comes to until it says `stop`, or is done.
    func trace(until stop: Loop.Next = .done) -> [String] {
      var trace: [String] = []
      while trace.count < 40 {
        let next = loop.advance(frame)
        switch next {
        case .batch: takeAll(&trace)
        case .wait: trace.append("wait")
        case .done: break
        }
        if next == stop { return trace }
      }
      return trace
    }

    private func takeAll(_ trace: inout [String]) {
      switch frame.pointee.batch.kind {
      case .observers: while loop.nextObserver(frame) { trace.append("observer \(String(frame.pointee.callout.value, radix: 16))") }
      case .blocks: while loop.nextBlock(frame) { trace.append("block") }
      case .sources: while loop.nextSource(frame) { trace.append(frame.pointee.callout.kind == .job ? "job" : "source") }
      case .timers: while loop.nextTimer(frame) { trace.append("timer") }
      case .descriptor: while loop.nextDescriptor(frame) { trace.append("descriptor") }
      case .port: while loop.nextMessage(frame) { trace.append("message") }
      case .none: trace.append("nothing")
      }
    }

    func add(_ item: Item) throws {
      _ = try "order".withCString { try loop.add(item, ModeName($0)) }
    }

    func makeSource(order: Int64 = 0) throws -> Item {
      var context = Context()
      context.order = order
      let source = try Item.source(code: nil, info: nil, context: context)
      try add(source)
      return source
    }

    func makeTimer(date: Int64, interval: Int64 = 0) throws -> Item {
      let timer = try Item.timer(
        code: nil, info: nil, context: Context(), date: date, interval: interval, tolerance: 0, ends: true)
      try add(timer)
      return timer
    }

    /// Queues a block; its info goes back when it was its turn, or never will be.
    func post(_ destroy: @escaping WorkItem.Release = { _ in }, info: UnsafeMutableRawPointer? = nil) throws {
      let item = WorkItem(post: unsafeBitCast(PassTests.nothing, to: UnsafeMutableRawPointer.self), info, destroy: destroy)
      _ = try "order".withCString { name in
        try [UnsafePointer(name)].withUnsafeBufferPointer { try Loop.post(loop.handle.bits, item, modes: $0, wakes: false) }
      }
    }
  }

  private static let nothing: @convention(c) (UnsafeMutableRawPointer?) -> Void = { _ in }

  private func withScene(timeout: Int64, flags: UInt32 = 0, _ body: (Scene) throws -> Void) throws {
    let loop = try Loop.current()
    let observer = try Item.observer(
      code: nil, info: nil, context: Context(), activities: Activity.all, once: false)
    _ = try "order".withCString { try loop.add(observer, ModeName($0)) }
    let mode = try #require("order".withCString { try loop.ownMode(ModeName($0)) })
    let frame = try Frame.take(loop, mode, timeout: timeout, flags: flags)
    loop.frame = frame
    defer {
      loop.frame = nil
      Frame.giveBack(frame, to: loop)
      Kind.forEachItemKind { kind in
        func anyMember() -> Item? {
          loop.lock()
          defer { loop.unlock() }
          return mode.anyMember(kind)
        }
        while let member = anyMember() { _ = loop.leave(member.primary, mode) }
      }
    }
    try body(Scene(loop: loop, mode: mode, frame: frame))
    try Item.release(.observer, observer.handle.bits, "observer")
  }

  private func release(_ item: Item) throws { try Item.release(item.kind, item.handle.bits, "item") }

  @Test("PASS-1 to PASS-14 RUN-5: a polled pass: blocks, sources, blocks, timers, blocks")
  func polled() throws {
    try withScene(timeout: 0) { scene in
      let source = try scene.makeSource()
      let timer = try scene.makeTimer(date: 1)
      _ = try source.signal(wake: false)
      try scene.post()
      #expect(
        scene.trace() == ["observer 1", "observer 2", "observer 4", "block", "source", "timer", "observer 80"])
      #expect(scene.frame.pointee.result == Status.timedOut)
      #expect(!source.isSignalled && !timer.isValid && scene.frame.pointee.batch.isEmpty)
      try release(source)
      try release(timer)
    }
  }

  @Test("PASS-7 to PASS-11 RUN-8: a pass that sleeps is bracketed by its two notifications")
  func sleeping() throws {
    try withScene(timeout: Clock.forever, flags: Frame.Flag.returnAfterSource) { scene in
      let source = try scene.makeSource()
      #expect(scene.trace(until: .wait) == ["observer 1", "observer 2", "observer 4", "observer 20", "wait"])
      // Stands for the wait: whoever waits would be woken by this signal.
      _ = try source.signal(wake: false)
      #expect(scene.trace() == ["observer 40", "observer 2", "observer 4", "source", "observer 80"])
      #expect(scene.frame.pointee.result == Status.handledSource)
      try release(source)
    }
  }

  @Test("STOP-4 PASS-14: a stop comes before everything else that could end the run")
  func stopWins() throws {
    try withScene(timeout: 0, flags: Frame.Flag.returnAfterSource) { scene in
      let source = try scene.makeSource()
      _ = try source.signal(wake: false)
      while scene.loop.advance(scene.frame) == .batch, scene.frame.pointee.batch.kind != .sources {
        while scene.loop.nextObserver(scene.frame) {}
      }
      #expect(scene.loop.nextSource(scene.frame) && scene.frame.pointee.callout.item?.slot == source.slot)
      scene.loop.state.stop.store(LoopState.Stop.innermost, ordering: .relaxed)
      #expect(!scene.loop.nextSource(scene.frame))
      #expect(scene.trace() == ["observer 80"])
      #expect(scene.frame.pointee.result == Status.stopped)
      scene.loop.state.stop.store(0, ordering: .relaxed)
      try release(source)
    }
  }

  @Test("SRC0-7 SRC0-8: sources take their turns by order, then by the time of the signal; one signalled meanwhile waits")
  func turns() throws {
    try withScene(timeout: 0) { scene in
      let sources = try [3, 1, 2, 1].map { try scene.makeSource(order: $0) }
      for source in sources.reversed() { _ = try source.signal(wake: false) }
      _ = try sources[3].signal(wake: false)
      while scene.loop.advance(scene.frame) == .batch, scene.frame.pointee.batch.kind != .sources {
        while scene.loop.nextObserver(scene.frame) {}
      }
      var turns: [UInt32?] = []
      while scene.loop.nextSource(scene.frame) {
        turns.append(scene.frame.pointee.callout.item?.slot)
        if turns.count == 1 { _ = try sources[3].signal(wake: false) }
      }
      #expect(turns == [3, 1, 2, 0].map { sources[$0].slot })
      #expect(sources[3].isSignalled)
      for source in sources { try release(source) }
    }
  }

  @Test("BLK-5: what a drain was not there for waits for the next, and what was queued meanwhile too")
  func blocks() throws {
    try withScene(timeout: 0) { scene in
      let log = Log()
      let info = Unmanaged.passUnretained(log).toOpaque()
      for _ in 0..<3 {
        try scene.post({ info in info.map { Unmanaged<Log>.fromOpaque($0).takeUnretainedValue().add("destroyed") } }, info: info)
      }
      while scene.loop.advance(scene.frame) == .batch, scene.frame.pointee.batch.kind != .blocks {
        while scene.loop.nextObserver(scene.frame) {}
      }
      #expect(scene.loop.nextBlock(scene.frame) && log.all.isEmpty)
      try scene.post()
      #expect(scene.loop.nextBlock(scene.frame) && log.all.count == 1)
      // The run ends here: the third goes back ahead of the fourth.
      scene.loop.settle(scene.frame, .abandoned)
      scene.loop.abandonBatch(scene.frame)
      #expect(log.all.count == 2 && scene.loop.hasEligibleBlock(scene.mode))
      #expect(scene.loop.openBlocks(scene.frame) && scene.frame.pointee.batch.entries.count == 2)
      #expect(scene.loop.nextBlock(scene.frame) && scene.loop.nextBlock(scene.frame) && log.all.count == 3)
      #expect(!scene.loop.nextBlock(scene.frame) && !scene.loop.hasEligibleBlock(scene.mode))
    }
  }

  @Test("PASS-12 TMR-11 TMR-16: the due timers fire by date, and a repeating one goes on with its grid")
  func timers() throws {
    try withScene(timeout: 0) { scene in
      let now = Clock.now()
      let later = try scene.makeTimer(date: now + 3_600_000_000_000)
      let second = try scene.makeTimer(date: now - 1_000, interval: 3_600_000_000_000)
      let first = try scene.makeTimer(date: now - 2_000)
      #expect(scene.mode.earliestDate == now - 2_000)
      while scene.loop.advance(scene.frame) == .batch, scene.frame.pointee.batch.kind != .timers {
        while scene.loop.nextObserver(scene.frame) {}
      }
      var turns: [UInt32?] = []
      while scene.loop.nextTimer(scene.frame) { turns.append(scene.frame.pointee.callout.item?.slot) }
      #expect(turns == [first.slot, second.slot])
      #expect(!first.isValid && second.isValid && second.nextFire() == now - 1_000 + 3_600_000_000_000)
      #expect(scene.mode.earliestDate == second.nextFire())
      for timer in [first, second, later] { try release(timer) }
    }
  }
}
