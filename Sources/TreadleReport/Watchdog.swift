// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

/// Tells of a callback that runs for too long while it runs (RL-14): a thread, which is there only where it is asked
/// for, looks at what the loops tell of their innermost callbacks (`LoopState.calledSince`). While messages are written
/// it also looks at signals that have woken nobody (`Sleeplessness.swift`), from the first one until there is none.
///
/// It begins with the first callback that is timed, and ends when no loop has its thread any more, since a process
/// lives as long as its last thread. Of the two that may meet then, each stores first and looks afterwards: a loop that
/// its callback has begun, and then for the thread; the thread that it ends, and then for callbacks.
enum Watchdog {
  private enum State {
    static let none: UInt32 = 0
    static let isThere: UInt32 = 1
    /// The system has refused the thread: it is not asked again.
    static let refused: UInt32 = 2
  }
  /// In the page that is new in the child of a fork, where there is no such thread.
  private static var state: UnsafeMutablePointer<Atomic<UInt32>> {
    treadle_system_watchdog_word().assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  /// Clients' log functions run on it.
  private static let stackSize = 524_288
  /// How long it may take to notice that no loop is left.
  private static let longestLook: Int64 = 250_000_000
  /// How long a thread may take to answer.
  private static let longestAnswer: Int64 = 1_000_000_000

  /// A callback that is timed has begun.
  static func ensure() {
    if state.pointee.load(ordering: .sequentiallyConsistent) != State.none { return }
    if !state.pointee.compareExchange(expected: State.none, desired: State.isThere, ordering: .sequentiallyConsistent)
      .exchanged
    {
      return
    }
    let result = treadle_system_helper_start({ _ in Watchdog.run() }, nil, stackSize)
    if result == 0 { return }
    state.pointee.store(State.refused, ordering: .sequentiallyConsistent)
    Log.tellNoWatchdog(result)
  }

  private static func run() -> UnsafeMutableRawPointer? {
    treadle_system_prepare_stacks()
    let name: StaticString = "treadle-watch"
    _ = treadle_system_thread_set_name(treadle_system_thread_self(), name.cText)
    let life = treadle_system_tag()
    while treadle_system_tag() == life {
      let next = look()
      if let next {
        treadle_system_sleep_until(next)
        continue
      }
      state.pointee.store(State.none, ordering: .sequentiallyConsistent)
      if !isAnyTimed
        || !state.pointee.compareExchange(
          expected: State.none, desired: State.isThere, ordering: .sequentiallyConsistent
        ).exchanged
      {
        break
      }
    }
    return nil
  }

  /// Tells of those that are late. When to look again; nil when no loop has its thread.
  private static func look() -> Int64? {
    let limit = treadle_system_watchdog_limit()
    let now = Clock.now()
    var next = Clock.after(min(limit, longestLook), from: now)
    var isAny = false
    Slab(.loop).forEachLive { _, memory in
      let loop = Loop(memory)
      if !loop.isAlive { return true }
      if let due = Log.lookForQuietSignal(loop, now) {
        isAny = true
        next = min(next, due)
      }
      if !Watch.isGuarded { return true }
      isAny = true
      guard let call = loop.timedCall else { return true }
      let due = Clock.after(limit, from: call.since)
      if due > now { next = min(next, due) } else { tell(loop, call) }
      return true
    }
    return isAny ? next : nil
  }

  /// Whether there is something to look at, for a thread that is about to end.
  private static var isAnyTimed: Bool {
    var isAny = false
    let now = Clock.now()
    Slab(.loop).forEachLive { _, memory in
      let loop = Loop(memory)
      isAny = Watch.isGuarded && loop.timedCall != nil || Log.lookForQuietSignal(loop, now) != nil
      return !isAny
    }
    return isAny
  }

  private static func tell(_ loop: Loop, _ call: TimedCall) {
    guard let running = loop.holdRunning() else { return }
    defer { running.item?.letGo() }
    // Else it was another one.
    if !loop.isCalled(call) || !Log.isFirstStuck(loop, running) { return }
    let thread = loop.threadID
    Log.tellStuck(loop, running, since: call.since)
    var frames: UnsafeRawPointer?
    let count = Int(
      treadle_system_stack_of(thread, call.word, call.since, Clock.after(longestAnswer, from: Clock.now()), &frames))
    guard let frames, count > 0 else {
      if loop.isCalled(call) { Log.tellNoStack(thread) }
      return
    }
    func frame(_ index: Int) -> UInt { frames.load(fromByteOffset: index &* MemoryLayout<UInt>.size, as: UInt.self) }
    var index = 0
    while index < count {
      var last = index
      if treadle_system_is_unnamed_here(frame(index)) {
        while last &+ 1 < count && treadle_system_is_unnamed_here(frame(last &+ 1)) { last &+= 1 }
      }
      Log.tellFrame(thread, index, to: last, frame(index))
      index = last &+ 1
    }
  }
}

/// Told by the core when a callback that is timed has begun.
@_cdecl("libtreadle_guard")
public func guardCallout() { Watchdog.ensure() }
