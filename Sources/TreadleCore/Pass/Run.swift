// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Running a loop: the shell around `advance`, which calls the client and sleeps.
extension Loop {
  /// Runs the loop, which is the calling thread's, in one mode until a result (RUN-1).
  func runOwn(
    _ name: ModeName?, timeout: Int64, flags: UInt32, interrupt: IndirectCallback?
  ) throws(Failure) -> Int32 {
    var result = Status.ok
    guard let frame = try begin(name, timeout: timeout, flags: flags, &result) else { return result }
    frame.pointee.interrupt = interrupt
    return try run(frame)
  }

  /// A run that begins; nil with its result if it is over at once.
  @inline(__always)
  func begin(
    _ name: ModeName?, timeout: Int64, flags: UInt32, _ result: inout Int32
  ) throws(Failure) -> Frame.Pointer? {
    if treadle_system_is_closed() { throw Shutdown.failure }
    guard let name, !CommonModes.isCommon(name) else {
      result = finishAtOnce(LoopCounters.Finish.unknownMode, name)
      return nil
    }
    if consumeStickyStop(isOutermost: frame == nil) {
      if treadle_system_is_closed() { throw Shutdown.failure }
      rearmPollables()
      result = Status.stopped
      return nil
    }
    let isMade = flags & Frame.Flag.whenEmpty != 0
    guard let mode = try modeToRun(name, isMade: isMade) else {
      result = finishAtOnce(LoopCounters.Finish.unknownMode, name)
      return nil
    }
    if !isMade && isEmpty(mode) {
      // A pass would find nothing that a wake-up may have been for, unless that was for another mode.
      if mode.isPollable && self.frame == nil { noteLeft(wasWoken: openWakeGate()) }
      result = finishAtOnce(LoopCounters.Finish.emptyAtOnce, name)
      return nil
    }
    return try push(mode, timeout: timeout, flags: flags)
  }

  @inline(never)
  private func finishAtOnce(_ reason: UInt32, _ name: ModeName?) -> Int32 {
    state.counters.finish(reason)
    rearmPollables()
    if Watch.isTelling { treadle_system_tell(UnsafeMutableRawPointer(address), 0, reason, name?.bytes, 0) }
    return Status.finished
  }

  /// Whether the last run that finished made no pass: nothing was in its mode.
  var foundNothing: Bool {
    let reason = state.counters.lastFinish.load(ordering: .relaxed)
    return reason == LoopCounters.Finish.unknownMode || reason == LoopCounters.Finish.emptyAtOnce
  }

  /// The mode of a name, which is made if there is none where a run may be in an empty one (RUN-16).
  private func modeToRun(_ name: ModeName, isMade: Bool) throws(Failure) -> Mode? {
    if let mode = try ownMode(name) { return mode }
    return isMade ? try withLock { () throws(Failure) in try findOrMakeUnlistedMode(name) } : nil
  }

  /// Runs in the call mode while its thread waits for what another does. Such a run ends when that is over, and not
  /// before: neither does the mode have to contain anything, nor does it heed stops. Those are for the client's run
  /// around it, and are still there when that goes on.
  func run(until awaited: Awaited, deadline: Int64) throws(Failure) {
    try run(until: awaited, in: try findOrMakeCallMode(), deadline: deadline)
  }

  /// The same in a mode of the client's, which is made if there is none; `interrupt`: what a signal leads to that ends
  /// a sleep. `known`: the mode, if the owner has just found it.
  @inline(never)
  package func run(
    until awaited: Awaited, in name: ModeName, known: Mode?, deadline: Int64, interrupt: IndirectCallback?
  ) throws(Failure) {
    var mode = known
    if mode == nil { mode = try modeToRun(name, isMade: true) }
    guard let mode else { return }
    try run(until: awaited, in: mode, deadline: deadline, interrupt: interrupt)
  }

  private func run(until awaited: Awaited, in mode: Mode, deadline: Int64, interrupt: IndirectCallback? = nil)
    throws(Failure)
  {
    let frame = try push(mode, timeout: Clock.forever, flags: interrupt == nil ? 0 : Frame.Flag.returnOnInterrupt)
    frame.pointee.awaited = awaited
    frame.pointee.interrupt = interrupt
    frame.pointee.deadline = deadline
    _ = try run(frame)
  }

  /// Notifies the observers of a mode that another loop is about to wait for this one: a run without a pass.
  @inline(never)
  func notifyOfPreparing(_ mode: Mode) throws(Failure) {
    let frame = try push(mode, timeout: 0, flags: 0)
    frame.pointee.step = .prepare
    _ = try run(frame)
  }

  /// Makes what that needs, which does not fail then for want of memory.
  func prepareAwaitedRun() throws(Failure) {
    _ = try findOrMakeCallMode()
    try Frame.reserve(self)
  }

  private func run(_ frame: Frame.Pointer) throws(Failure) -> Int32 {
    // What callbacks create belongs to no scope that the thread has entered around the run.
    let aside = treadle_system_thread().pointee.scope == nil ? nil : Scope.beginAside()
    defer { if let aside { Scope.endCalling(aside) } }
    if Watch.isTracing { Trace.record(Trace.What.runBegins) }
    defer { if Watch.isTracing { Trace.record(Trace.What.runEnds) } }
    // No exception of a client's leaves the run (THR-19).
    treadle_system_call_clients({ if let memory = $0 { Loop(memory).runToItsEnd() } }, UnsafeMutableRawPointer(address))
    if isOfParent { throw Runtime.forkedFailure }
    return try pop(frame)
  }

  /// The innermost run.
  private func runToItsEnd() {
    guard let frame else { return }
    _ = pump(frame) {
      deliver(frame)
      return true
    }
  }

  /// Goes on with a run until it is over, or `body`, which delivers each batch, returns false: then it is left. Whether
  /// it is over.
  @inline(__always)
  func pump(_ frame: Frame.Pointer, _ body: () -> Bool) -> Bool {
    while body() {
      switch advance(frame) {
      case .batch: break
      case .wait: wait(frame)
      case .done: return true
      }
    }
    return false
  }

  private func wait(_ frame: Frame.Pointer) {
    let returnsOnInterrupt = frame.pointee.flags & Frame.Flag.returnOnInterrupt != 0
    // A run that waits for something heeds no stop: it would not sleep with one.
    let awaited = frame.pointee.awaited
    if Watch.isObserved { sleepBegins() }
    defer { if Watch.isObserved { sleepEnds() } }
    let end = sleep(
      frame.pointee.mode, until: frame.pointee.deadline, returnOnInterrupt: returnsOnInterrupt,
      asked: &frame.pointee.asked
    ) { awaited.map { $0.isOver } ?? isStopAsked }
    state.hasReading = false
    if isWoken { state.counters.wakes.count() }
    switch end {
    case .interrupted:
      frame.pointee.wasInterrupted = frame.pointee.interrupt == nil
      callInterrupt(frame)
    case .failed(let result): frame.pointee.systemResult = result
    case .somethingToDo, .deadline: break
    }
  }

  // MARK: The stack of runs

  private func push(_ mode: Mode, timeout: Int64, flags: UInt32) throws(Failure) -> Frame.Pointer {
    let frame = try Frame.take(self, mode, timeout: timeout, flags: flags)
    if let outer = self.frame { holdCalled(outer) }
    frame.pointee.outer = self.frame
    reinstateOuterTimers(mode)
    frame.pointee.outerStop = takeStop(LoopState.Stop.innermost | LoopState.Stop.failed)
    // What came before the outermost run has its effect in that.
    let isWokenByOwner = state.isWokenByOwner
    let wasWoken = openWakeGate() || isWokenByOwner
    if self.frame == nil { frame.pointee.wasWoken = wasWoken } else { frame.pointee.outerWake = wasWoken ? 1 : 0 }
    if frame.pointee.outer != nil {
      frame.pointee.outerCall = beginNestedCalls()
    } else {
      state.running.store(0, ordering: .relaxed)
      state.calledSince.store(0, ordering: .relaxed)
    }
    state.goingOn = state.life
    if hasPollables { disarmPollables() }
    self.frame = frame
    mode.state.runs = mode.state.runs &+ 1
    state.currentMode.store(mode.slot, ordering: .relaxed)
    // Of a thread's two locked instructions for a run with an empty pass this store is one, and that of the wake-up in
    // `unlink` is the other.
    state.depth.store(state.depth.load(ordering: .relaxed) &+ 1, ordering: .sequentiallyConsistent)
    // Either a shutdown's barrier is before this, and the run finds it before a callback (`mustEnd`), or the shutdown
    // finds the loop and the run. The fence is for a kernel without barriers, where a loop that is new is found by
    // other words than the depth.
    treadle_system_fence_after_exchange()
    return frame
  }

  /// What the run calls gets a counted reference, which is the callout's from then on: another run is about to begin
  /// inside of it, or the call never returns. One that was left by a mode is that reference.
  @inline(never)
  func holdCalled(_ frame: Frame.Pointer) {
    guard let item = frame.pointee.callout.item, !frame.pointee.callout.isHeld else { return }
    lock()
    if !endCalling() { item.holdAgain() }
    unlock()
    frame.pointee.callout.isHeld = true
  }

  /// Timers that outer runs of the mode have collected but not fired may be fired by this run first.
  private func reinstateOuterTimers(_ mode: Mode) {
    var outer = frame
    while let run = outer {
      if run.pointee.mode.slot == mode.slot && run.pointee.batch.kind == .timers && !run.pointee.batch.isEmpty {
        mode.reinstateTimers(run.pointee.batch.entries, from: run.pointee.batch.index)
      }
      outer = run.pointee.outer
    }
  }

  func pop(_ frame: Frame.Pointer) throws(Failure) -> Int32 {
    // What the run's last pool has released may have left another one.
    if self.frame != frame { endRunsLeft(inside: frame) }
    let result = frame.pointee.result
    let systemResult = frame.pointee.systemResult
    let wasWoken = unlink(frame)
    if hasPollables && isAtRest { armPollables(isWoken: wasWoken || self.frame != nil) }
    // As in `push`: a shutdown that is not seen here finds that the run has ended.
    treadle_system_fence_after_exchange()
    if treadle_system_is_closed() { Rest.announce() }
    if self.frame == nil { checkInvariants() }
    switch result {
    case Status.closed: throw Shutdown.failure
    case Status.callback: throw Failure(Status.callback, "callback", "of a host did not complete")
    case Status.state:
      throw Failure(Status.state, "host", "fetches its events (treadle_loop_next), and has one pending")
    case Status.system: throw Failure.system("the kernel's wait", systemResult)
    default: return result
    }
  }

  /// Takes the innermost run off the stack, and gives the one around it what it had. Whether a wake-up was pending.
  @inline(__always)
  func unlink(_ frame: Frame.Pointer) -> Bool {
    let outer = frame.pointee.outer
    self.frame = outer
    state.goingOn = outer?.pointee.isLeft == true ? Loop.left : state.life
    frame.pointee.mode.state.runs = frame.pointee.mode.state.runs &- 1
    state.depth.store(state.depth.load(ordering: .relaxed) &- 1, ordering: .releasing)
    state.currentMode.store(outer?.pointee.mode.slot ?? 0, ordering: .relaxed)
    // A stop that an awaited run has not heeded is for the run around it.
    let isHeeded = frame.pointee.awaited == nil || outer == nil
    let ofThisRun = isHeeded ? LoopState.Stop.innermost | LoopState.Stop.failed : LoopState.Stop.failed
    _ = takeStop(ofThisRun)
    // Relaxed as in `takeStop`.
    if frame.pointee.outerStop != 0 { state.stop.bitwiseOr(frame.pointee.outerStop, ordering: .relaxed) }
    // In order as in `openWakeGate`: what was queued before a wake-up is found.
    let wasWoken = state.wakePending.exchange(frame.pointee.outerWake, ordering: .sequentiallyConsistent) != 0
    state.isWokenByOwner = false
    let wasEverWoken = wasWoken || frame.pointee.wasWoken
    if let outer { if wasEverWoken { leaveQueued(to: outer) } } else { noteLeft(wasWoken: wasEverWoken) }
    state.hasReading = false
    if outer != nil { endNestedCalls(frame.pointee.outerCall) }
    Frame.giveBack(frame, to: self)
    return wasWoken
  }

  /// Takes stops that there are. One that comes at the same time is for the run that is the innermost behind this.
  /// Relaxed: the run has acquired the stop that it has heeded, and who reads the word later is ordered behind each
  /// stop whose update this one follows.
  @inline(__always)
  private func takeStop(_ bits: UInt32) -> UInt32 {
    if state.stop.load(ordering: .relaxed) & bits == 0 { return 0 }
    return state.stop.bitwiseAnd(~bits, ordering: .relaxed).oldValue & bits
  }

  /// A wake-up is for the innermost run (WAKE-1). That run may end without calling all that was queued with the
  /// wake-up, since not all of it is eligible in its mode. The run around it calls the rest before it sleeps.
  @inline(never)
  private func leaveQueued(to outer: Frame.Pointer) {
    outer.pointee.wasWoken = true
    if hasQueued(outer.pointee.mode) { state.isWokenByOwner = true }
  }

  /// The outermost run has ended, or was none: whether there is still something in the queues that a wake-up was for.
  @inline(__always)
  private func noteLeft(wasWoken: Bool) {
    if wasWoken || state.hasLeft { state.hasLeft = hasAnyQueued }
  }
}
