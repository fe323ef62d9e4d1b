// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Running a loop: the shell around `advance`, which calls the client and sleeps.
extension Loop {
  /// Runs the calling thread's loop in one mode until a result (RUN-1).
  package func run(_ name: ModeName?, timeout: Int64, flags: UInt32) throws(Failure) -> Int32 {
    guard belongsToCaller else {
      throw Failure(Status.wrongThread, "loop", "is another thread's: a loop runs on its own thread alone")
    }
    if treadle_system_is_closed() { throw Shutdown.failure }
    guard let name, !CommonModes.isCommon(name) else { return Status.finished }
    if consumeStickyStop(isOutermost: state.pointee.frame == nil) { return Status.stopped }
    guard let mode = lookUp(name), !isEmpty(mode) else { return Status.finished }
    let frame = try push(mode, timeout: timeout, flags: flags)
    frame.pointee.mayBeQuiet =
      frame.pointee.outer == nil && timeout == Clock.forever && flags & Frame.Flag.returnAfterSource == 0
    return try run(frame)
  }

  @inline(never)
  func run(_ frame: UnsafeMutablePointer<Frame>) throws(Failure) -> Int32 {
    while true {
      advance(frame)
      switch frame.pointee.callout.kind {
      case .done: return try pop(frame)
      case .wait: wait(frame)
      case .source, .sourceInHand: performSources(frame)
      case .timer: fireTimers(frame)
      case .observer: tellObservers(frame)
      case .block: callBlocks(frame)
      case .request: performRequests(frame)
      default: performDescriptors(frame)
      }
    }
  }

  /// Runs the default mode until stopped or finished (RUN-3).
  package func runDefault() throws(Failure) -> Int32 {
    while true {
      let result = try run(CommonModes.defaultName, timeout: Clock.forever, flags: 0)
      if result == Status.stopped || result == Status.finished { return result }
    }
  }

  func push(_ mode: Mode, timeout: Int64, flags: UInt32) throws(Failure) -> UnsafeMutablePointer<Frame> {
    if let outer = state.pointee.frame {
      holdCalled(outer)
      outer.pointee.quietRevision = Frame.unknown
      collectRest(outer)
    }
    let frame: UnsafeMutablePointer<Frame>
    if let spare = state.pointee.spareFrames {
      state.pointee.spareFrames = spare.pointee.outer
      frame = spare
      frame.initialize(to: Frame(mode: mode, timeout: timeout, flags: flags, reusing: spare))
    } else {
      frame = try Loop.allocateFrame()
      frame.initialize(to: Frame(mode: mode, timeout: timeout, flags: flags))
    }
    frame.pointee.outer = state.pointee.frame
    reinstateOuterTimers(mode)
    frame.pointee.outerStop = state.pointee.stopPending.exchange(0, ordering: .acquiringAndReleasing)
    frame.pointee.outerWake = state.pointee.wakePending.exchange(0, ordering: .acquiringAndReleasing)
    if hand.pointee.is_woken { frame.pointee.outerWake = 1 }
    hand.pointee.is_woken = false
    state.pointee.hasReading = false
    state.pointee.frame = frame
    state.pointee.currentMode.store(mode.slot, ordering: .sequentiallyConsistent)
    state.pointee.depth.add(1, ordering: .sequentiallyConsistent)
    // Signals of a flood count as wake-ups of the run that goes on later.
    if let outer = frame.pointee.outer, endFlood(of: outer.pointee.mode) { frame.pointee.outerWake = 1 }
    return frame
  }

  /// An empty frame that is nobody's run yet.
  static func allocateFrame() throws(Failure) -> UnsafeMutablePointer<Frame> {
    guard let memory = treadle_system_allocate(MemoryLayout<Frame>.size) else { throw Failure.noMemory("run") }
    memset(memory, 0, MemoryLayout<Frame>.size)
    return memory.bindMemory(to: Frame.self, capacity: 1)
  }

  /// Timers that outer runs of the mode have collected but not fired may be fired by this run first.
  private func reinstateOuterTimers(_ mode: Mode) {
    var outer = state.pointee.frame
    while let run = outer {
      if run.pointee.mode.slot == mode.slot && !run.pointee.timers.isOver { mode.reinstateTimers(run.pointee.timers) }
      outer = run.pointee.outer
    }
  }

  private func pop(_ frame: UnsafeMutablePointer<Frame>) throws(Failure) -> Int32 {
    let result = frame.pointee.result
    let systemResult = frame.pointee.systemResult
    state.pointee.frame = frame.pointee.outer
    state.pointee.depth.subtract(1, ordering: .sequentiallyConsistent)
    state.pointee.currentMode.store(frame.pointee.outer?.pointee.mode.slot ?? 0, ordering: .sequentiallyConsistent)
    // A stop that an awaited run has not heeded is for the run around it.
    if frame.pointee.awaited == nil || frame.pointee.outer == nil || frame.pointee.outerStop != 0 {
      state.pointee.stopPending.store(frame.pointee.outerStop, ordering: .sequentiallyConsistent)
    }
    _ = endFlood(of: frame.pointee.mode)
    state.pointee.wakePending.store(frame.pointee.outerWake, ordering: .sequentiallyConsistent)
    hand.pointee.is_woken = false
    if frame.pointee.outer != nil { mixSignals(frame.pointee.mode) }
    keepOrFree(frame)
    if treadle_system_is_closed() { Rest.announce() }
    if result == Status.closed { throw Shutdown.failure }
    if result == Status.callback {
      throw Failure(Status.callback, "callback", "of a host did not complete")
    }
    if result == Status.system { throw Failure.system("the kernel's wait", systemResult) }
    return result
  }

  /// What an outer run of the mode has collected may have been performed and signalled again in a run inside of it, which
  /// is over: if it performs that, a mention of it is left in the queue of signals, and another one may follow.
  private func mixSignals(_ mode: Mode) {
    mode.state.pointee.ownSignalsAreMixed = true
    state.pointee.gate.lock()
    mode.state.pointee.signalsAreMixed = true
    state.pointee.gate.unlock()
  }

  /// A few frames wait for the next runs, so that these allocate nothing; more than that came of a deep recursion.
  private func keepOrFree(_ frame: UnsafeMutablePointer<Frame>) {
    var kept = 0
    var spare = state.pointee.spareFrames
    while let next = spare, kept < Frame.mostKept {
      kept &+= 1
      spare = next.pointee.outer
    }
    if kept == Frame.mostKept {
      Frame.free(frame)
    } else {
      frame.pointee.outer = state.pointee.spareFrames
      state.pointee.spareFrames = frame
    }
  }

  private func wait(_ frame: UnsafeMutablePointer<Frame>) {
    let returnsOnInterrupt = frame.pointee.flags & Frame.Flag.returnOnInterrupt != 0
    var asked = false
    let end = sleep(
      frame.pointee.mode, until: frame.pointee.deadline, returnOnInterrupt: returnsOnInterrupt,
      awaited: frame.pointee.awaited, asked: &asked)
    frame.pointee.asked = asked
    state.pointee.hasReading = false
    switch end {
    case .interrupted: frame.pointee.wasInterrupted = true
    case .failed(let result): frame.pointee.systemResult = result
    default: return
    }
    frame.pointee.mayBeQuiet = false
  }

  // MARK: Ends out of turn

  /// A host's callback failed: the innermost run ends.
  func failRun() { state.pointee.frame?.pointee.fail() }

  /// The innermost run ends, with a result out of turn: a host's callback failed, or everything was shut down.
  /// What it had taken but not handled is put back. After a shutdown no observer is told.
  func abandonPass(_ frame: UnsafeMutablePointer<Frame>, _ result: Int32) {
    frame.pointee.forgetFailure()
    if frame.pointee.result == result { return }
    frame.pointee.result = result
    if result == Status.closed { endNotification(frame) }
    if frame.pointee.step == .leave { return }
    endNotification(frame)
    frame.pointee.requestLimit = 0
    putBackCollected(frame)
    abandonDrain(frame)
    frame.pointee.mode.reinstateTimers(frame.pointee.timers)
    frame.pointee.timers.end()
    frame.pointee.step = .leave
  }

  /// The thread ends inside its runs (pthread_exit in a callback): they let go of what they hold.
  @_optimize(size)
  func abandonRuns() {
    while let frame = state.pointee.frame {
      let callout = frame.pointee.callout
      frame.pointee.callout.set(.none)
      switch callout.kind {
      case .block: if let node = callout.block.node { BlockNode.free(node) }
      case .source: if callout.isHeld { callout.item?.drop() }
      case .descriptor: callout.item?.drop()
      case .request: if let node = callout.request { RequestNode.finish(node, Waiter.Outcome.dropped) }
      case .timer: if let item = callout.item { abandonTimer(item) }
      case .observer: if callout.isHeld { callout.item?.endCountedCall() }
      default: break
      }
      frame.pointee.awaited?.abandonWait()
      endNotification(frame)
      abandonDrain(frame)
      frame.pointee.mode.reinstateTimers(frame.pointee.timers)
      state.pointee.frame = frame.pointee.outer
      Frame.free(frame)
    }
    unprotect()
    state.pointee.depth.store(0, ordering: .sequentiallyConsistent)
    state.pointee.currentMode.store(0, ordering: .sequentiallyConsistent)
  }

  private func abandonTimer(_ item: Item) {
    item.releaseAfterCall()
    item.comeToRest(takesNextDate: true)
    item.drop()
  }

  /// Whether a callback of the item is on this thread's stack.
  func isInCallback(of item: Item) -> Bool {
    var frame = state.pointee.frame
    while let run = frame {
      if run.pointee.callout.isOf(item) { return true }
      // Only the innermost run's is in hand (`holdCalled`).
      if run.pointee.callout.kind == .sourceInHand && itemInHand?.cell == item.cell { return true }
      frame = run.pointee.outer
    }
    return false
  }
}
