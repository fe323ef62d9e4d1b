// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Sleeping and being woken. A loop that watches no descriptor sleeps on a futex, which needs no kernel
/// object at all; one that does, in epoll.
///
/// Both sides write their word, then look at the other's: the sleeper says that it sleeps and looks for
/// reasons not to; the waker gives its reason and looks for a sleeper. So no wake-up is lost, and none
/// costs a system call while the loop is awake.
enum Sleep {
  static let awake: UInt32 = 0
  static let onFutex: UInt32 = 1
  static let inPoller: UInt32 = 2

  /// Why a sleep ended.
  enum End {
    case somethingToDo
    case deadline
    case interrupted
    /// The kernel refuses to wait: its result, `-errno`.
    case failed(Int32)
  }
}

/// `LoopState.stickyStop`.
enum StickyStop {
  static let requested: UInt32 = 1
  static let allLevels: UInt32 = 2
}

extension Loop {
  // MARK: Any thread

  /// Ends the current or next sleep of the innermost run (WAKE-1). Safe in a signal handler.
  @inline(__always)
  package func wake() {
    if !isCurrent { state.pointee.caller.store(Loop.callerNumber, ordering: .relaxed) }
    state.pointee.wakePending.store(1, ordering: .sequentiallyConsistent)
    kickSleeper()
  }

  /// Whether a wake-up is noted that no pass has begun after. Whoever has made its reason visible by an
  /// atomic exchange before it asks need not wake the loop again: the loop clears the note first and
  /// looks afterwards. A plain store would not do: it may still be on its way.
  @inline(__always)
  var isWakePending: Bool { state.pointee.wakePending.load(ordering: .sequentiallyConsistent) != 0 }

  /// Notes a wake-up, with the gate held. What it returns is for `endSleep`, once the gate is open.
  @inline(__always)
  func markWoken() -> UInt32 {
    state.pointee.wakePending.store(1, ordering: .relaxed)
    if state.pointee.sleeping.load(ordering: .relaxed) == Sleep.awake { return Sleep.awake }
    return claimSleeper()
  }

  /// Stops the innermost run (STOP-2). Ignored without one (STOP-1).
  package func stop() -> Int32 {
    if state.pointee.depth.load(ordering: .sequentiallyConsistent) == 0 { return Status.ignored }
    state.pointee.stopPending.store(1, ordering: .sequentiallyConsistent)
    kickSleeper()
    return Status.ok
  }

  /// Stops the innermost run, or the next one (STOP-9). Safe in a signal handler.
  package func requestStop(allLevels: Bool) {
    let bits = allLevels ? StickyStop.requested | StickyStop.allLevels : StickyStop.requested
    state.pointee.stickyStop.bitwiseOr(bits, ordering: .sequentiallyConsistent)
    kickSleeper()
  }

  /// Makes a sleeping loop look again at its timers and descriptors; not a wake-up.
  func interruptSleep() {
    state.pointee.changes.add(1, ordering: .sequentiallyConsistent)
    kickSleeper()
  }

  @inline(__always)
  private func kickSleeper() {
    if state.pointee.sleeping.load(ordering: .sequentiallyConsistent) != Sleep.awake { endSleep(claimSleeper()) }
  }

  /// Ends the sleep, if it is still on, for the caller to deliver: of all who try, one gets it.
  @inline(never)
  private func claimSleeper() -> UInt32 {
    state.pointee.kicking.add(1, ordering: .sequentiallyConsistent)
    let sleep = state.pointee.sleeping.exchange(Sleep.awake, ordering: .sequentiallyConsistent)
    if sleep == Sleep.awake { state.pointee.kicking.subtract(1, ordering: .sequentiallyConsistent) }
    return sleep
  }

  /// Tells the kernel of a sleep that `claimSleeper` has ended.
  @inline(never)
  func endSleep(_ sleep: UInt32) {
    if sleep == Sleep.awake { return }
    if sleep == Sleep.inPoller {
      treadle_system_eventfd_write(state.pointee.wakeDescriptor.load(ordering: .acquiring))
    } else {
      treadle_system_futex_wake(sleepWord, 1)
    }
    state.pointee.kicking.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Where `LoopState.sleeping` lies: the kernel wants its address.
  private var sleepWord: UnsafeMutableRawPointer { UnsafeMutableRawPointer(state) + Loop.sleepingOffset }
  static let sleepingOffset = 72

  // MARK: Owner

  /// Whether the innermost run is asked to stop; a sticky stop is not consumed by looking.
  @inline(__always)
  var isStopAsked: Bool {
    state.pointee.stopPending.load(ordering: .acquiring) != 0
      || state.pointee.stickyStop.load(ordering: .acquiring) != 0
  }

  /// Whether the innermost run is to end: if it awaits a call, because that is over.
  @inline(__always)
  func isEndAsked(_ awaited: CarriedCall?) -> Bool {
    if let awaited { return !awaited.isAwaited }
    return isStopAsked
  }

  /// Whether a wake-up was given since the pass began.
  @inline(__always)
  var isWoken: Bool {
    hand.pointee.is_woken || state.pointee.wakePending.load(ordering: .sequentiallyConsistent) != 0
  }

  @inline(__always)
  func hasWork(_ mode: Mode) -> Bool {
    state.pointee.incomingCount.load(ordering: .acquiring) != 0 || hasIncomingRequests
      || mode.state.pointee.signalledCount.load(ordering: .acquiring) != 0 || !mode.state.pointee.ownSignals.isEmpty
  }

  /// Blocks until there is something to do in the mode, a timer of it is due, or the run's deadline passed
  /// (PASS-10); `asked` tells whether the kernel was asked for descriptors. Wakes of the kernel's that turn
  /// out to mean nothing are slept through.
  func sleep(
    _ mode: Mode, until deadline: Int64, returnOnInterrupt: Bool, awaited: CarriedCall?, asked: inout Bool
  ) -> Sleep.End {
    state.pointee.waiting.store(1, ordering: .releasing)
    defer { state.pointee.waiting.store(0, ordering: .releasing) }
    if !returnOnInterrupt && !hand.pointee.is_woken && spin(mode, until: deadline, awaited: awaited) { return .somethingToDo }
    while true {
      let changes = state.pointee.changes.load(ordering: .sequentiallyConsistent)
      let until = min(deadline, mode.nextWake())
      let poller = mode.poller ?? (returnOnInterrupt ? mode.pollerForInterrupts() : nil)
      if returnOnInterrupt, let poller { mode.armInterrupt(poller, state.pointee.interruptDescriptor.load(ordering: .acquiring)) }
      // Under the gate, because those who queue blocks and signals look for a sleeper under it.
      state.pointee.gate.lock()
      let isFlooded = mode.stopFlood()
      let isBusy = hasWork(mode) || isFlooded
      if !isBusy {
        let kind = poller == nil ? Sleep.onFutex : Sleep.inPoller
        state.pointee.sleeping.store(kind, ordering: .sequentiallyConsistent)
      }
      state.pointee.gate.unlock()
      if isBusy { return .somethingToDo }
      if isWoken || isEndAsked(awaited) {
        endOwnSleep()
        return .somethingToDo
      }
      if state.pointee.changes.load(ordering: .sequentiallyConsistent) != changes {
        endOwnSleep()
        continue
      }
      let start = sleepMayTell()
      let result: Int32
      if let poller {
        result = mode.waitForDescriptors(poller, until: until)
        asked = result >= 0
      } else {
        result = treadle_system_futex_wait(sleepWord, Sleep.onFutex, until == Int64.max ? until : max(until, 1))
      }
      endOwnSleep()
      noteSleep(since: start)
      if returnOnInterrupt && (result == 0 &- treadle_system_eintr() || poller?.takeInterrupt() == true) {
        return .interrupted
      }
      if result < 0 && poller != nil && result != 0 &- treadle_system_eintr() { return .failed(result) }
      if poller?.hasEvents == true || isWoken || isEndAsked(awaited) {
        return .somethingToDo
      }
      // Blocks and signals that came without a wake-up do not end a sleep (BLK-2, SRC0-6).
      let now = Clock.now()
      if now >= deadline { return .deadline }
      if mode.earliestDate <= now && mode.nextWake() <= now { return .somethingToDo }
    }
  }

  /// A descriptor that interrupts runs which return on interrupts; -1 for none.
  package func setInterruptDescriptor(_ number: Int32) throws(Failure) {
    if number >= 0 { try Item.demandOpen(number) }
    state.pointee.interruptDescriptor.store(max(number, -1), ordering: .sequentiallyConsistent)
    interruptSleep()
  }

  @inline(__always)
  private func endOwnSleep() { state.pointee.sleeping.store(Sleep.awake, ordering: .sequentiallyConsistent) }

  /// The thread is gone: no more sleeps; waits for those who are just ending one, then closes the wake
  /// descriptor and the pollers.
  func closeSleep() {
    state.pointee.sleeping.store(Sleep.awake, ordering: .sequentiallyConsistent)
    while state.pointee.kicking.load(ordering: .sequentiallyConsistent) != 0 { treadle_system_yield() }
    mutex.lock()
    for slot in state.pointee.modes.elements { Mode(slot: slot)?.closePoller() }
    let descriptor = state.pointee.wakeDescriptor.exchange(-1, ordering: .sequentiallyConsistent)
    mutex.unlock()
    if descriptor >= 0 { treadle_system_close(descriptor) }
  }
}
