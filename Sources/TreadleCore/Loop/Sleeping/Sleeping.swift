// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The owner's side of sleeping.
extension Loop {
  /// Why a sleep ended.
  enum SleepEnd {
    case somethingToDo
    case deadline
    case interrupted
    /// The kernel refuses to wait: its result, `-errno`.
    case failed(Int32)
  }

  /// Whether the innermost run is asked to stop; a sticky stop is not consumed by looking. A sleeper has said that it
  /// sleeps before this load, and `askToStop` looks for a sleeper after its update: both are sequentially consistent.
  @inline(__always)
  var isStopAsked: Bool { state.stop.load(ordering: .sequentiallyConsistent) != 0 }

  /// Whether a wake-up was given since the pass began.
  @inline(__always)
  var isWoken: Bool {
    state.isWokenByOwner || state.wakePending.load(ordering: .sequentiallyConsistent) != 0
  }

  /// PASS-1: a wake-up given before counts no more, since this pass looks at everything. True if there was one, other
  /// than by the owner's own signals.
  @inline(__always)
  func openWakeGate() -> Bool {
    state.isWokenByOwner = false
    state.hasReading = false
    // Exchanged, not stored: another wake-up may have come since the load, and what was queued for it must be found as
    // well. A wake-up that the load misses is found before the sleep.
    if state.wakePending.load(ordering: .relaxed) == 0 { return false }
    _ = state.wakePending.exchange(0, ordering: .sequentiallyConsistent)
    return true
  }

  /// Blocks until there is something to do in the mode, a timer of it is due, the deadline has passed, or `isOver` says
  /// so (PASS-10). Wakes of the kernel's that turn out to mean nothing are slept through.
  ///
  /// What ends it: a wake-up or a stop, a signal that came since the pass looked for them, a due timer, a ready
  /// descriptor. Not a block: whoever queues one and wants it performed now wakes the loop (BLK-2). `asked` tells
  /// whether the kernel was asked for descriptors.
  func sleep(
    _ mode: Mode, until deadline: Int64, returnOnInterrupt: Bool, asked: inout Bool, _ isOver: () -> Bool
  ) -> SleepEnd {
    assertOwner()
    // A client that sees the loop wait sees what it did before.
    state.waiting.store(1, ordering: .releasing)
    defer { state.waiting.store(0, ordering: .relaxed) }
    if !returnOnInterrupt && spin(mode, until: deadline, isOver) { return .somethingToDo }
    if !returnOnInterrupt && hasLookouts && reportNews(mode, asked: &asked) { return .somethingToDo }
    // A signal handler may have forked, too: the kernel's set is the parent's.
    while treadle_system_open_tag() == state.life {
      // Acquires the changes that are counted here already: what follows looks at them.
      let changes = state.changes.load(ordering: .acquiring)
      let until = min(deadline, mode.nextWake())
      let poller = mode.poller ?? (returnOnInterrupt ? mode.pollerForInterrupts() : nil)
      if returnOnInterrupt, let poller { mode.armInterrupt(poller) }
      if let poller, Watch.isTelling, mode.reportClosed(poller) { return .somethingToDo }
      if until != Clock.forever && until <= Clock.now() {
        return findDue(
          mode, poller, returnOnInterrupt: returnOnInterrupt, asked: &asked, isPastDeadline: until == deadline)
      }
      if !fallAsleep(mode, poller == nil ? Sleep.onFutex : Sleep.inPoller) { return .somethingToDo }
      if isWoken || isOver() {
        endOwnSleep()
        return .somethingToDo
      }
      if state.changes.load(ordering: .sequentiallyConsistent) != changes {
        endOwnSleep()
        continue
      }
      state.counters.sleeps.count()
      let start = state.callers.sleepBegins()
      let result: Int32
      if let poller {
        result = mode.waitForDescriptors(poller, until: until)
        asked = result >= 0
      } else {
        result = Futex.sleep(
          state.sleeping, while: Sleep.onFutex, until: until == Clock.forever ? until : max(until, 1))
      }
      endOwnSleep()
      state.awakeSince.store(Clock.lastTick, ordering: .relaxed)
      state.callers.sleepEnded(since: start)
      if returnOnInterrupt && (result == 0 &- treadle_system_eintr() || poller?.takeInterrupt() == true) {
        return .interrupted
      }
      if result < 0 && poller != nil && result != 0 &- treadle_system_eintr() { return .failed(result) }
      if isWoken || poller?.hasEvents == true || isOver() { return .somethingToDo }
      if until == Clock.forever { continue }
      let now = Clock.now()
      if now >= deadline { return .deadline }
      if mode.earliestDate <= now && mode.nextWake() <= now { return .somethingToDo }
    }
    return .somethingToDo
  }

  /// There is nothing to sleep for: a timer is due, or the deadline has passed. The kernel's timer is not set for a
  /// date in the past, which would cost more than the callback, and the kernel is asked only for interrupts: the pass
  /// asks it for descriptors, when their turn comes.
  @inline(never)
  private func findDue(
    _ mode: Mode, _ poller: Poller?, returnOnInterrupt: Bool, asked: inout Bool, isPastDeadline: Bool
  ) -> SleepEnd {
    if returnOnInterrupt, let poller {
      let result = mode.waitForDescriptors(poller, until: nil)
      asked = result >= 0
      if poller.takeInterrupt() { return .interrupted }
      if result < 0 { return .failed(result) }
    }
    return isPastDeadline ? .deadline : .somethingToDo
  }

  /// Says that the thread sleeps, under the gate, since those who queue something look for a sleeper under it; false if
  /// there is a signal already, though nobody has woken the loop for it (SRC0-13), or a port with a message (PORT-5).
  @inline(__always)
  private func fallAsleep(_ mode: Mode, _ sleep: UInt32) -> Bool {
    state.gate.lock()
    defer { state.gate.unlock() }
    if mode.state.signalledCount.load(ordering: .relaxed) != 0 || !mode.state.ownSignals.isEmpty { return false }
    if mode.hasReadyPorts { return false }
    state.sleeping.store(sleep, ordering: .sequentiallyConsistent)
    return true
  }

  /// A thread that still sees the sleep may end it once more, which at worst ends a later sleep for no reason: so the
  /// store orders nothing.
  @inline(__always)
  private func endOwnSleep() { state.sleeping.store(Sleep.awake, ordering: .relaxed) }

  /// Waits awake for the loop's callers, in this process and in others. True if a wake-up or the end of the run came
  /// meanwhile; false if it has to sleep, or there is news (`Lookouts.swift`).
  @inline(__always)
  private func spin(_ mode: Mode, until deadline: Int64, _ isOver: () -> Bool) -> Bool {
    // What comes from now on does not come because this loop was too quick; callers that do not wait for it are another
    // matter.
    if !state.isOverrun { state.isChasing = false }
    guard state.callers.takeNote() else { return false }
    if hasLookouts && hasNews(mode) { return false }
    let changes = state.changes.load(ordering: .relaxed)
    let isDue = state.callers.spin(limit: min(deadline, mode.earliestDate)) {
      state.wakePending.load(ordering: .relaxed) != 0 || isOver()
        || state.changes.load(ordering: .relaxed) != changes || hasLookouts && hasNews(mode)
    }
    // What has changed may end no sleep. The wait decides nothing, so it orders nothing either.
    return isDue && (isWoken || isOver())
  }
}
