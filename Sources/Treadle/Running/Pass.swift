// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The order of a run: the Guide's ten steps, the rules' PASS-1 to PASS-14. This file is where it is fixed.
///
///     enter                 1   observers: Entry                      RUN-1
///       open                    the wake gate                        PASS-1
///       beforeTimers        2   observers                             PASS-2
///       beforeSources       3   observers                             PASS-3
///       firstBlocks             blocks                                PASS-4
///       sources             4   signalled sources                     PASS-5
///       blocksAfterSources      blocks, if a source was performed     PASS-6
///                           5   sleep, or poll?                       PASS-7, PASS-8
///       beforeWaiting       6   observers, unless polling             PASS-9
///                           7   sleep                                 PASS-10
///       afterWaiting        8   observers, unless polling             PASS-11
///       timers              9   due timers, or one descriptor         PASS-12
///       lastBlocks              blocks; again, or a result            PASS-13, PASS-14
///     leave                10   observers: Exit                       RUN-1
///
/// `advance` goes from one callout to the next and returns; nothing is held or half done in between. It
/// neither blocks nor calls a client's main callback: its caller does. A step falls through to the next;
/// only where it returns with a callout does it note where to go on.
extension Loop {
  func advance(_ frame: UnsafeMutablePointer<Frame>) {
    settle(frame)
    while true {
      if treadle_system_is_closed() {
        abandonPass(frame, Status.closed)
        Pool.drain(to: frame.pointee.poolMark)
        frame.pointee.callout.set(.done)
        return
      }
      if frame.pointee.failed { abandonPass(frame, Status.callback) }
      switch frame.pointee.step {
      case .enter:
        if frame.pointee.sweep == nil { frame.pointee.poolMark = Pool.mark }
        if notify(frame, Activity.entry, at: .enter) { return }
        Pool.drain(to: frame.pointee.poolMark)
        if frame.pointee.failed { continue }
        if frame.pointee.awaited == nil && consumeStop(frame) {
          frame.pointee.step = .leave
          continue
        }
        startDeadline(frame)
        fallthrough

      case .open:
        letOthersQueueMore(frame.pointee.mode)
        openWakeGate()
        frame.pointee.poolMark = Pool.mark
        frame.pointee.beginPass()
        fallthrough

      case .beforeTimers:
        if notify(frame, Activity.beforeTimers, at: .beforeTimers) { return }
        fallthrough

      case .beforeSources:
        if notify(frame, Activity.beforeSources, at: .beforeSources) { return }
        fallthrough

      case .firstBlocks:
        if nextBlock(frame, at: .firstBlocks) { return }
        collectSources(frame)
        fallthrough

      case .sources:
        if nextSource(frame) {
          frame.pointee.step = .sources
          return
        }
        // What was dropped with the last source may have called the client.
        if mustEnd(frame) { continue }
        fallthrough

      case .blocksAfterSources:
        if frame.pointee.handled && nextBlock(frame, at: .blocksAfterSources) { return }
        frame.pointee.polls = mustPoll(frame)
        fallthrough

      case .beforeWaiting:
        if !frame.pointee.polls {
          if notify(frame, Activity.beforeWaiting, at: .beforeWaiting) { return }
          // An observer may have emptied the mode just now: nothing would end the sleep (RUN-10).
          if !hasNothingToWaitFor(frame) {
            frame.pointee.step = .afterWaiting
            frame.pointee.callout.set(.wait)
            return
          }
        }
        fallthrough

      case .afterWaiting:
        if !frame.pointee.polls && notify(frame, Activity.afterWaiting, at: .afterWaiting) { return }
        if chooseEvent(frame) { return }
        fallthrough

      case .timers:
        if nextTimer(frame) {
          frame.pointee.step = .timers
          return
        }
        fallthrough

      case .lastBlocks:
        if nextBlock(frame, at: .lastBlocks) { return }
        Pool.drain(to: frame.pointee.poolMark)
        frame.pointee.step = hasResult(frame) ? .leave : .open

      case .leave:
        if frame.pointee.sweep == nil {
          // What a pass that was abandoned has left.
          Pool.drain(to: frame.pointee.poolMark)
          frame.pointee.poolMark = Pool.mark
        }
        if notify(frame, Activity.exit, at: .leave) { return }
        Pool.drain(to: frame.pointee.poolMark)
        if frame.pointee.failed { abandonPass(frame, Status.callback) }
        frame.pointee.callout.set(.done)
        return
      }
    }
  }

  /// RUN-1: counted from here, after the Entry observers. The first pass begins: the thread is ready (THR-18).
  private func startDeadline(_ frame: UnsafeMutablePointer<Frame>) {
    // A wait is none of the thread's own runs.
    if frame.pointee.awaited == nil { Thread.declareReady() }
    if frame.pointee.timeout == Clock.forever || frame.pointee.timeout <= 0 { return }
    frame.pointee.deadline = Clock.after(frame.pointee.timeout, from: Clock.now())
  }

  /// PASS-1: a wake-up given before counts no more, since this pass looks at everything.
  @inline(__always)
  func openWakeGate() {
    hand.pointee.is_woken = false
    state.pointee.hasReading = false
    if state.pointee.wakePending.load(ordering: .acquiring) != 0 {
      state.pointee.wakePending.store(0, ordering: .sequentiallyConsistent)
    }
  }

  /// PASS-7 and PASS-8. Not to sleep: a source was handled, the run only polls, its deadline has passed,
  /// the mode became empty, or a descriptor is ready.
  @inline(__always)
  private func mustPoll(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode
    if frame.pointee.handled || frame.pointee.timeout <= 0 { return true }
    if isPastDeadline(frame) { return true }
    if hasNothingToWaitFor(frame) { return true }
    guard let poller = mode.poller else { return false }
    if poller.hasEvents { return true }
    // Whether the sleep's steps are skipped shows to their observers alone: without any, the wait itself
    // tells soon enough.
    if !mode.hasInterest(in: Activity.beforeWaiting | Activity.afterWaiting) { return false }
    // The answer counts for this pass only if it is yes: otherwise the sleep asks again.
    frame.pointee.asked = mode.pollDescriptors()
    return frame.pointee.asked
  }

  /// PASS-12: due timers, or one ready descriptor, each class in its turn when both are there. True for a
  /// descriptor, in the frame's callout; the timers are the next step's.
  @inline(__always)
  private func chooseEvent(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let mode = frame.pointee.mode
    let earliest = mode.earliestDate
    let now = earliest == Clock.forever ? 0 : Clock.now()
    let timersAreDue = earliest <= now
    if !timersAreDue || mode.state.pointee.lastWasTimers, nextDescriptor(frame) { return true }
    if timersAreDue && mode.collectTimers(&frame.pointee.timers, now: now) {
      noteReading(now)
      mode.state.pointee.lastWasTimers = true
      return false
    }
    return timersAreDue && nextDescriptor(frame)
  }

  /// PASS-14, with a stop first (STOP-4).
  @inline(__always)
  private func hasResult(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if frame.pointee.awaited != nil { return hasResultOfAwaited(frame) }
    if isStopAsked && consumeStop(frame) { return true }
    if frame.pointee.systemResult != 0 {
      frame.pointee.result = Status.system
    } else if frame.pointee.handled && frame.pointee.flags & Frame.Flag.returnAfterSource != 0 {
      frame.pointee.result = Status.handledSource
    } else if frame.pointee.timeout <= 0 || isPastDeadline(frame) {
      frame.pointee.result = Status.timedOut
    } else if isEmpty(frame.pointee.mode) {
      frame.pointee.result = Status.finished
    } else if frame.pointee.wasInterrupted {
      frame.pointee.result = Status.interrupted
    } else {
      return false
    }
    return true
  }

  @inline(never)
  private func hasResultOfAwaited(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if isEndAsked(frame.pointee.awaited) {
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
  private func isPastDeadline(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    frame.pointee.deadline != Clock.forever && Clock.now() >= frame.pointee.deadline
  }

  /// An empty mode is not slept in, unless a wake-up ends the sleep at once, or a call is awaited.
  @inline(__always)
  private func hasNothingToWaitFor(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if let awaited = frame.pointee.awaited { return !awaited.isAwaited }
    return isEmpty(frame.pointee.mode) && !isWoken
  }

  /// Whether there is nothing to wait for in a mode (MODE-7).
  @inline(__always)
  func isEmpty(_ mode: Mode) -> Bool { !mode.hasContent && !hasEligibleBlock(mode) && !hasEligibleRequest(mode) }

  /// If the run is asked to stop: takes note, and uses the request up (STOP-2, STOP-9).
  private func consumeStop(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    let isPlain = state.pointee.stopPending.load(ordering: .acquiring) != 0
    let isSticky = consumeStickyStop(isOutermost: frame.pointee.outer == nil)
    if isPlain || isSticky { frame.pointee.result = Status.stopped }
    return isPlain || isSticky
  }

  /// A sticky stop ends one run, or with all levels every run up to the outermost.
  func consumeStickyStop(isOutermost: Bool) -> Bool {
    let bits = state.pointee.stickyStop.load(ordering: .acquiring)
    if bits == 0 { return false }
    if isOutermost || bits & StickyStop.allLevels == 0 {
      state.pointee.stickyStop.store(0, ordering: .sequentiallyConsistent)
    }
    return true
  }
}
