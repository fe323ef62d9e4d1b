// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Guest (ABI-13): a loop that another one dispatches, a slice at a time. A dispatch is a run that polls, and makes
/// passes until one has called nothing; where its budget is used up before, the frame stays on the loop's stack, as
/// that of a pull does, and the next dispatch goes on behind the callback that was the last one. So each budget,
/// however small, leads on to all that a pass would have called.
///
/// The invariant: whenever the thread is at rest, with no run or with such a frame alone, the pollable descriptors are
/// armed; and with the frame they are readable.
extension Loop {
  /// Whether no callback is running: there is no run, or one that the next dispatch goes on with.
  @inline(__always)
  var isAtRest: Bool {
    guard let frame else { return true }
    return frame.pointee.outer == nil && frame.pointee.isLeft && frame.pointee.isGuest
  }

  /// One slice. Owner.
  func dispatchOwn(_ name: ModeName, time: Int64, items: Int) throws(Failure) -> Int32 {
    var result = Status.ok
    let until = time >= Clock.forever ? Clock.forever : Clock.after(max(time, 0), from: Clock.now())
    var next = findSlice(name)
    if let next {
      endRunsLeft(inside: next)
    } else {
      next = try begin(name, timeout: 0, flags: Frame.Flag.whenEmpty, &result)
    }
    guard let frame = next else { return result }
    frame.pointee.isGuest = true
    frame.pointee.isLeft = false
    state.goingOn = state.life
    if hasPollables { disarmPollables() }
    var slice = Slice(loop: self, frame: frame, until: until, left: max(items, 1))
    let aside = treadle_system_thread().pointee.scope == nil ? nil : Scope.beginAside()
    defer { if let aside { Scope.endCalling(aside) } }
    // No exception of a client's leaves the run (THR-19).
    withUnsafeMutablePointer(to: &slice) {
      treadle_system_call_clients({ $0?.assumingMemoryBound(to: Slice.self).pointee.run() }, $0)
    }
    if isOfParent { throw Runtime.forkedFailure }
    if slice.isOver { return try pop(frame) }
    leave(frame)
    if hasPollables && isAtRest { armPollables(isWoken: true) }
    return Status.ok
  }

  /// The frame that a dispatch of the mode has left, and nobody has gone on around.
  private func findSlice(_ name: ModeName) -> Frame.Pointer? {
    var frame = self.frame
    while let run = frame, run.pointee.isLeft {
      if run.pointee.isGuest && run.pointee.mode.name.map({ name.equals($0) }) == true { return run }
      frame = run.pointee.outer
    }
    return nil
  }

  private struct Slice {
    let loop: Loop
    let frame: Frame.Pointer
    let until: Int64
    var left: Int
    var isOver = true

    mutating func run() { isOver = loop.run(frame, until: until, &left) }
  }

  /// False: the budget is used up.
  private func run(_ frame: Frame.Pointer, until: Int64, _ left: inout Int) -> Bool {
    pump(frame) {
      while nextOfAny(frame) {
        let kind = frame.pointee.callout.kind
        if !(Watch.isObserved ? callWatched(frame) : call(kind, frame)) { return false }
        if kind == .observer { continue }
        frame.pointee.hasCalled = true
        left &-= 1
        if left <= 0 || until != Clock.forever && Clock.now() >= until {
          settle(frame, .returned)
          if !isOfParent && !mustEnd(frame) { return false }
        }
      }
      return true
    }
  }

  // MARK: Preparing

  /// When a dispatch of the mode will have something to do: 0 for now, or the date of a timer. Unless there is
  /// something already, observers that have asked for it are told first: they may add something, such as the next date
  /// of a third loop. Owner.
  func prepareOwn(_ name: ModeName) throws(Failure) -> Int64 {
    if treadle_system_is_closed() { throw Shutdown.failure }
    var found = try ownMode(name)
    if findSlice(name) != nil || isReady(found) { return 0 }
    if let mode = found, mode.hasInterest(in: Activity.prepare) {
      try notifyOfPreparing(mode)
      found = try ownMode(name)
      if isReady(found) { return 0 }
    }
    guard let mode = found else { return Clock.forever }
    if let poller = mode.poller {
      // Whoever waits by the descriptor is to see what the kernel has, too.
      let result = mode.isPollable ? poller.lookAtPollable() : mode.pollDescriptors()
      if result < 0 && result != 0 &- treadle_system_eintr() { throw Failure.system("the kernel's wait", result) }
      if result > 0 { return 0 }
    }
    let date = mode.nextWake()
    return date <= Clock.now() ? 0 : date
  }

  /// Whether a dispatch of a mode would have something to do, as far as the loop knows without the kernel.
  private func isReady(_ mode: Mode?) -> Bool {
    if isWoken || isStopAsked { return true }
    guard let mode else { return false }
    if mode.hasReadyPorts || mode.isAskedToPerform(self) || hasLeft(mode) { return true }
    // A count alone: a change of it ends the wait that the date is for.
    return mode.poller.map { $0.hasEvents || $0.state.alwaysReadyCount.load(ordering: .relaxed) != 0 } ?? false
  }
}

extension Mode {
  /// Whether a source of it is signalled. Owner.
  func isAskedToPerform(_ loop: Loop) -> Bool {
    loop.state.gate.lock()
    defer { loop.state.gate.unlock() }
    return state.signalledCount.load(ordering: .relaxed) != 0 || !state.ownSignals.isEmpty
  }
}

extension Poller {
  /// Whether the pollable descriptor is readable: more than 0, 0, or -errno.
  func lookAtPollable() -> Int32 {
    var event = treadle_system_event()
    return treadle_system_epoll_wait(state.pollable, &event, 1, 0)
  }
}
