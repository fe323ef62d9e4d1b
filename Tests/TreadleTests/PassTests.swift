// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing

@testable import Treadle
@testable import TreadleBase

/// The order of a run, step by step, without a thread that runs it and without a clock: `advance` is
/// asked for one callout after the other, and none is made.
@Suite("The order of a pass", .serialized)
struct PassTests {
  /// One step as `run` takes it, but without calling anything but observers: what `advance` asked for.
  private func step(_ loop: Loop, _ frame: UnsafeMutablePointer<Frame>) -> (kind: Callout.Kind, value: UInt32) {
    loop.advance(frame)
    let asked = (frame.pointee.callout.kind, frame.pointee.callout.value)
    if asked.0 == .observer { loop.tellObservers(frame) }
    return asked
  }

  /// What `advance` asks its caller to do.
  private func callouts(_ loop: Loop, _ frame: UnsafeMutablePointer<Frame>, limit: Int = 40) -> [String] {
    var trace: [String] = []
    while trace.count < limit {
      let callout = step(loop, frame)
      switch callout.kind {
      case .observer: trace.append("observer \(String(callout.value, radix: 16))")
      case .source, .sourceInHand: trace.append("source")
      case .timer: trace.append("timer")
      case .descriptor: trace.append("descriptor")
      case .block: trace.append("block")
      case .wait: trace.append("wait")
      case .done: return trace
      case .request: trace.append("request")
      case .none: trace.append("none")
      }
    }
    return trace
  }

  /// A loop of no thread's, in which `body` gets a mode with one observer of everything.
  private func withLoop(_ body: (Loop, Mode) throws -> Void) throws {
    try Loop.startRuntime()
    let loop = try Loop.create(threadID: 1)
    let observer = try Item.observer(
      code: nil, info: nil, options: ItemOptions(), activities: Activity.all, once: false)
    _ = try "order".withCString { try loop.add(observer, ModeName($0)) }
    let mode = try #require("order".withCString { loop.findMode(ModeName($0)) })
    try body(loop, mode)
    loop.removeAllItems()
    loop.discardBlocks()
    try observer.release("observer")
    try loop.release()
  }

  private func makeFrame(_ mode: Mode, timeout: Int64, flags: UInt32 = 0) -> UnsafeMutablePointer<Frame> {
    let frame = UnsafeMutablePointer<Frame>.allocate(capacity: 1)
    frame.initialize(to: Frame(mode: mode, timeout: timeout, flags: flags))
    return frame
  }

  private static let nothing: @convention(c) (UnsafeMutableRawPointer?) -> Void = { _ in }

  @Test("PASS-1 to PASS-14 RUN-5: a polled pass: blocks, sources, blocks, timers, blocks")
  func polled() throws {
    try withLoop { loop, mode in
      let source = try Item.source(code: nil, info: nil, options: ItemOptions())
      let timer = try Item.timer(
        code: nil, info: nil, options: ItemOptions(), date: 1, interval: 0, tolerance: 0)
      _ = try "order".withCString { try loop.add(source, ModeName($0)) }
      _ = try "order".withCString { try loop.add(timer, ModeName($0)) }
      _ = source.signal(wake: false)
      let block = BlockNode(
        code: unsafeBitCast(PassTests.nothing, to: UnsafeMutableRawPointer.self),
        indirect: IndirectCallback(object: nil, invoke: nil, drop: nil), info: nil, destroy: nil)
      _ = try "order".withCString { name in
        try [UnsafePointer(name)].withUnsafeBufferPointer { try loop.perform(block, modes: $0) }
      }
      let frame = makeFrame(mode, timeout: 0)
      #expect(
        callouts(loop, frame) == [
          "observer 1", "observer 2", "observer 4", "block", "source", "timer", "observer 80",
        ])
      #expect(frame.pointee.result == Status.timedOut)
      Frame.free(frame)
      try source.release("source")
      try timer.release("timer")
    }
  }

  @Test("PASS-7 to PASS-11 RUN-8: a pass that sleeps is bracketed by its two notifications")
  func sleeping() throws {
    try withLoop { loop, mode in
      let source = try Item.source(code: nil, info: nil, options: ItemOptions())
      _ = try "order".withCString { try loop.add(source, ModeName($0)) }
      let frame = makeFrame(mode, timeout: Clock.forever, flags: Frame.Flag.returnAfterSource)
      let first = step(loop, frame)
      #expect(first.kind == .observer && first.value == Activity.entry)
      // Stands for the wait: whoever waits would be woken by this signal.
      var trace: [String] = []
      while true {
        let callout = step(loop, frame)
        if callout.kind == .wait { break }
        if callout.kind == .observer { trace.append(String(callout.value, radix: 16)) }
      }
      _ = source.signal(wake: false)
      #expect(trace == ["2", "4", "20"])
      #expect(
        callouts(loop, frame) == ["observer 40", "observer 2", "observer 4", "source", "observer 80"])
      #expect(frame.pointee.result == Status.handledSource)
      Frame.free(frame)
      try source.release("source")
    }
  }

  @Test("STOP-4 PASS-14: a stop comes before everything else that could end the run")
  func stopWins() throws {
    try withLoop { loop, mode in
      let source = try Item.source(code: nil, info: nil, options: ItemOptions())
      _ = try "order".withCString { try loop.add(source, ModeName($0)) }
      _ = source.signal(wake: false)
      let frame = makeFrame(mode, timeout: 0, flags: Frame.Flag.returnAfterSource)
      var trace: [String] = []
      while step(loop, frame).kind != .source {}
      loop.state.pointee.stopPending.store(1, ordering: .relaxed)
      trace = callouts(loop, frame)
      #expect(trace == ["observer 80"])
      #expect(frame.pointee.result == Status.stopped)
      loop.state.pointee.stopPending.store(0, ordering: .relaxed)
      Frame.free(frame)
      try source.release("source")
    }
  }
}
