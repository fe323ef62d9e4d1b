// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The order of a run: the Guide's ten steps, the rules' PASS-1 to PASS-14. This file is where it is fixed.
///
/// `advance` goes on to the next thing that somebody else has to do, and says what: to deliver a batch of callouts, to
/// wait, or nothing more. Nothing is held or half done in between. It neither blocks nor calls a client's main
/// callback. A step notes where the run goes on, and falls through to the next unless it has a batch.
extension Loop {
  enum Next {
    /// The frame's batch is to be delivered.
    case batch
    /// The thread is to sleep (PASS-10).
    case wait
    case done
  }

  func advance(_ frame: Frame.Pointer) -> Next {
    while true {
      if mustEnd(frame) {
        if endRunsLeft(inside: frame), !mustEnd(frame) {
          if frame.pointee.batch.kind != .none { return .batch }
        } else if endsAtOnce(frame) {
          return .done
        }
      }
      switch frame.pointee.step {
      case .enter:  // 1
        frame.pointee.poolMark = Pool.mark
        frame.pointee.step = .entered
        if notify(frame, Activity.entry) { return .batch }
        fallthrough

      case .entered:
        drainPool(frame)
        // What was drained has called the client.
        if mustEnd(frame) { continue }
        if frame.pointee.awaited == nil && consumeStop(frame) {
          frame.pointee.step = .leave
          continue
        }
        startDeadline(frame)
        fallthrough

      case .open:  // 2
        letOthersQueueMore(frame.pointee.mode)
        if openWakeGate() { frame.pointee.wasWoken = true }
        state.counters.passes.count()
        if Watch.isObserved { passBegins(frame) }
        frame.pointee.poolMark = Pool.mark
        frame.pointee.handled = false
        frame.pointee.hasCalled = false
        frame.pointee.asked = false
        frame.pointee.step = .beforeSources
        if notify(frame, Activity.beforeTimers) { return .batch }
        fallthrough

      case .beforeSources:  // 3
        frame.pointee.step = .firstBlocks
        if notify(frame, Activity.beforeSources) { return .batch }
        fallthrough

      case .firstBlocks:
        frame.pointee.step = .sources
        if openBlocks(frame) { return .batch }
        fallthrough

      case .sources:  // 4
        frame.pointee.step = .blocksAfterSources
        if openSources(frame) { return .batch }
        fallthrough

      case .blocksAfterSources:
        frame.pointee.step = .beforeWaiting
        if frame.pointee.handled && openBlocks(frame) { return .batch }
        fallthrough

      case .beforeWaiting:  // 5, 6
        frame.pointee.polls = mustPoll(frame)
        frame.pointee.step = .sleep
        if !frame.pointee.polls && notify(frame, Activity.beforeWaiting) { return .batch }
        fallthrough

      case .sleep:  // 7
        frame.pointee.step = .afterWaiting
        if !frame.pointee.polls && hasSomethingToWaitFor(frame) { return .wait }
        fallthrough

      case .afterWaiting:  // 8
        frame.pointee.step = .events
        if !frame.pointee.polls && notify(frame, Activity.afterWaiting) { return .batch }
        fallthrough

      case .events:  // 9
        frame.pointee.step = .lastBlocks
        if openEvents(frame) { return .batch }
        fallthrough

      case .lastBlocks:
        frame.pointee.step = .close
        if openBlocks(frame) { return .batch }
        fallthrough

      case .close:
        drainPool(frame)
        if Watch.isListened { treadle_system_probe_pass_ends(handle.bits) }
        if !hasResult(frame) {
          frame.pointee.step = .open
          continue
        }
        fallthrough

      case .leave:  // 10
        // What a pass that was abandoned has left.
        drainPool(frame)
        frame.pointee.poolMark = Pool.mark
        frame.pointee.step = .left
        if notify(frame, Activity.exit) { return .batch }
        fallthrough

      case .left:
        drainPool(frame)
        return .done

      case .prepare:
        frame.pointee.poolMark = Pool.mark
        frame.pointee.step = .left
        if notify(frame, Activity.prepare) { return .batch }
      }
    }
  }

  /// Releases what the pass, or what came before it, has put off.
  @inline(__always)
  func drainPool(_ frame: Frame.Pointer) {
    if !Pool.holdsMore(than: frame.pointee.poolMark) { return }
    Pool.drain(to: frame.pointee.poolMark)
  }

  /// RUN-1: counted from here, after the Entry observers. The first pass begins: the thread is ready (THR-18).
  private func startDeadline(_ frame: Frame.Pointer) {
    // A wait is none of the thread's own runs.
    if frame.pointee.awaited != nil { return }
    if let firstPass = treadle_system_thread().pointee.first_pass { firstPass() }
    if frame.pointee.timeout == Clock.forever || frame.pointee.timeout <= 0 { return }
    frame.pointee.deadline = Clock.after(frame.pointee.timeout, from: Clock.now())
  }

  /// PASS-7 and PASS-8. Not to sleep: a source was handled, the run only polls, its deadline has passed, the mode
  /// became empty, or a descriptor or port is ready.
  @inline(__always)
  private func mustPoll(_ frame: Frame.Pointer) -> Bool {
    let mode = frame.pointee.mode
    if frame.pointee.handled || frame.pointee.timeout <= 0 { return true }
    if isPastDeadline(frame) || hasBecomeEmpty(frame) { return true }
    if mode.hasReadyPorts && mode.demandReadyPort(self) { return true }
    guard let poller = mode.poller else { return false }
    if poller.hasEvents { return true }
    // Whether the sleep's steps are skipped shows to their observers alone: without any, the wait itself tells soon
    // enough.
    if !mode.hasInterest(in: Activity.beforeWaiting | Activity.afterWaiting) { return false }
    // The answer counts for this pass only if it is yes: otherwise the sleep asks again.
    let isReady = askForDescriptors(frame)
    frame.pointee.asked = isReady
    return isReady
  }

  /// PASS-12: due timers, or one ready descriptor or port, each class in its turn when both are there.
  @inline(__always)
  private func openEvents(_ frame: Frame.Pointer) -> Bool {
    let mode = frame.pointee.mode
    let earliest = mode.earliestDate
    let now = earliest == Clock.forever ? 0 : Clock.now()
    let timersAreDue = earliest <= now
    if !timersAreDue || mode.state.lastWasTimers, openReady(frame) { return true }
    if timersAreDue && openTimers(frame, now) { return true }
    return timersAreDue && openReady(frame)
  }

  @inline(__always)
  private func openReady(_ frame: Frame.Pointer) -> Bool {
    frame.pointee.mode.hasReadyPorts ? openPortOrDescriptor(frame) : openDescriptor(frame)
  }

  /// PASS-14, with a stop first (STOP-4).
  @inline(__always)
  private func hasResult(_ frame: Frame.Pointer) -> Bool {
    if let awaited = frame.pointee.awaited { return hasResult(frame, awaited) }
    if isStopAsked && consumeStop(frame) { return true }
    if frame.pointee.systemResult != 0 {
      frame.pointee.result = Status.system
    } else if frame.pointee.handled && frame.pointee.flags & Frame.Flag.returnAfterSource != 0 {
      frame.pointee.result = Status.handledSource
    } else if frame.pointee.timeout <= 0 && !(frame.pointee.isGuest && frame.pointee.hasCalled) || isPastDeadline(frame)
    {
      frame.pointee.result = Status.timedOut
    } else if endsEmpty(frame) {
      state.counters.finish(LoopCounters.Finish.becameEmpty)
      frame.pointee.result = Status.finished
    } else if frame.pointee.wasInterrupted {
      frame.pointee.result = Status.interrupted
    } else {
      return false
    }
    return true
  }

  @inline(never)
  private func hasResult(_ frame: Frame.Pointer, _ awaited: Awaited) -> Bool {
    if awaited.isOver {
      frame.pointee.result = Status.finished
    } else if frame.pointee.systemResult != 0 {
      frame.pointee.result = Status.system
    } else if isPastDeadline(frame) {
      frame.pointee.result = Status.timedOut
    } else {
      return false
    }
    return true
  }

  @inline(__always)
  private func isPastDeadline(_ frame: Frame.Pointer) -> Bool {
    frame.pointee.deadline != Clock.forever && Clock.now() >= frame.pointee.deadline
  }

  /// RUN-10: with no wake-up pending, which has its effect. A run that waits for something goes on in an empty mode.
  @inline(__always)
  private func hasBecomeEmpty(_ frame: Frame.Pointer) -> Bool {
    if let awaited = frame.pointee.awaited { return awaited.isOver }
    return endsEmpty(frame) && !isWoken
  }

  /// Looked at behind the observers of BeforeWaiting. A block is nothing to wait for: it ends no sleep (BLK-2), so
  /// where the mode has nothing else it is performed without one (RUN-10).
  @inline(__always)
  private func hasSomethingToWaitFor(_ frame: Frame.Pointer) -> Bool {
    if let awaited = frame.pointee.awaited { return !awaited.isOver }
    return frame.pointee.mode.hasContent || isWoken || frame.pointee.flags & Frame.Flag.whenEmpty != 0
  }

  /// Whether the run ends for want of anything to wait for.
  @inline(__always)
  private func endsEmpty(_ frame: Frame.Pointer) -> Bool {
    isEmpty(frame.pointee.mode) && frame.pointee.flags & Frame.Flag.whenEmpty == 0
  }

  /// Whether there is nothing to wait for in a mode (MODE-7).
  @inline(__always)
  func isEmpty(_ mode: Mode) -> Bool { !mode.hasContent && !hasEligibleBlock(mode) && !hasEligibleJob(mode) }

  /// If the run is asked to stop: takes note, and uses the request up (STOP-2, STOP-9).
  func consumeStop(_ frame: Frame.Pointer) -> Bool {
    // Relaxed: the next load of the word, which finds this stop or a later one, acquires.
    let isPlain = state.stop.load(ordering: .relaxed) & LoopState.Stop.innermost != 0
    let isSticky = consumeStickyStop(isOutermost: frame.pointee.outer == nil)
    // A shutdown stops every loop, behind saying what it is.
    if isPlain || isSticky { frame.pointee.result = treadle_system_is_closed() ? Status.closed : Status.stopped }
    return isPlain || isSticky
  }

  /// A sticky stop ends one run, or with all levels every run up to the outermost.
  func consumeStickyStop(isOutermost: Bool) -> Bool {
    let sticky = LoopState.Stop.sticky | LoopState.Stop.allLevels | LoopState.Stop.atOnce
    let bits = state.stop.load(ordering: .acquiring)
    if bits & LoopState.Stop.sticky == 0 { return false }
    if isOutermost || bits & LoopState.Stop.allLevels == 0 {
      // Relaxed: the look has acquired the stop that was seen. A stop that has come since is used up with it; what
      // tells of that stop comes from the thread that asked for it, and orders what it did.
      state.stop.bitwiseAnd(~sticky, ordering: .relaxed)
    }
    return true
  }
}
