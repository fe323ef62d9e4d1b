// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// `LoopState.sleeping`. A loop that watches no descriptor sleeps on that word itself, which needs no kernel object at
/// all; one that does, in epoll.
enum Sleep {
  static let awake: UInt32 = 0
  static let onFutex: UInt32 = 1
  static let inPoller: UInt32 = 2
}

/// Waking a loop, from any thread. Both sides write their word, then look at the other's: the sleeper says that it
/// sleeps and looks for reasons not to; the waker gives its reason and looks for a sleeper. So no wake-up is lost, and
/// none costs a system call while the loop is awake: wake-ups are coalesced.
extension Loop {
  /// Ends the current or next sleep of the innermost run (WAKE-1). Safe in a signal handler.
  @inline(__always)
  package func wake() {
    if !isCurrent { state.callers.note() }
    state.wakePending.store(1, ordering: .sequentiallyConsistent)
    kickSleeper()
  }

  /// Whether a wake-up is noted that no pass has begun after. Whoever has made its reason visible by an atomic exchange
  /// before it asks need not wake the loop again: the loop clears the note first and looks afterwards. A plain store
  /// would not do: it may still be on its way.
  @inline(__always)
  var isWakePending: Bool { state.wakePending.load(ordering: .sequentiallyConsistent) != 0 }

  /// Notes a wake-up, with the gate held. What it returns is for `endSleep`, once the gate is open. The store releases:
  /// the owner clears the note without the gate, and must find what was queued before it.
  @inline(__always)
  func markWoken() -> UInt32 {
    state.wakePending.store(1, ordering: .releasing)
    return state.sleeping.load(ordering: .relaxed) == Sleep.awake ? Sleep.awake : claimSleeper()
  }

  /// Notes that a port has become ready, with the gate held: no wake-up, but the owner looks again. What it returns is
  /// for `endSleep`, once the gate is open.
  @inline(__always)
  func markChanged() -> UInt32 {
    if !isCurrent { state.callers.note() }
    state.changes.add(1, ordering: .relaxed)
    return state.sleeping.load(ordering: .relaxed) == Sleep.awake ? Sleep.awake : claimSleeper()
  }

  /// Stops the innermost run (STOP-2). Ignored without one (STOP-1).
  package func stop() -> Int32 {
    // A run that begins or ends at the same time may or may not be meant.
    if state.depth.load(ordering: .relaxed) == 0 { return Status.ignored }
    askToStop(LoopState.Stop.innermost)
    return Status.ok
  }

  /// Stops the innermost run, or the next one (STOP-9); `atOnce`: without the rest of its pass. Safe in a signal
  /// handler.
  package func requestStop(allLevels: Bool, atOnce: Bool = false) {
    askToStop(LoopState.Stop.sticky | (allLevels ? LoopState.Stop.allLevels : 0) | (atOnce ? LoopState.Stop.atOnce : 0))
  }

  /// The same, by the flags of the C interface.
  package func requestStop(flags: UInt32) throws(Failure) {
    try StopFlag.check(flags)
    requestStop(allLevels: flags & StopFlag.allLevels != 0, atOnce: flags & StopFlag.atOnce != 0)
  }

  private func askToStop(_ bits: UInt32) {
    state.stop.bitwiseOr(bits, ordering: .sequentiallyConsistent)
    kickSleeper()
  }

  /// Makes a sleeping loop look again at its timers and descriptors; not a wake-up.
  func interruptSleep() {
    state.changes.add(1, ordering: .sequentiallyConsistent)
    kickSleeper()
  }

  /// Whether somebody sleeps for the loop: its thread, or another loop that waits for it.
  @inline(__always)
  package var isAsleep: Bool { state.sleeping.load(ordering: .sequentiallyConsistent) != Sleep.awake }

  /// Ends the sleep, if there is one.
  @inline(__always)
  func kickSleeper() {
    if isAsleep { endSleep(claimSleeper()) }
  }

  /// Ends the sleep, if it is still on, for the caller to deliver: of all who try, one gets it. The caller has looked
  /// for a sleeper behind its reason, or holds the gate; so the exchange, which reads the newest value, needs no order
  /// with that look. The count and the exchange are sequentially consistent for `closeSleep`.
  @inline(never)
  private func claimSleeper() -> UInt32 {
    state.kicking.add(1, ordering: .sequentiallyConsistent)
    let sleep = state.sleeping.exchange(Sleep.awake, ordering: .sequentiallyConsistent)
    if sleep == Sleep.awake { state.kicking.subtract(1, ordering: .relaxed) }
    return sleep
  }

  /// Tells the kernel of a sleep that `claimSleeper` has ended.
  @inline(never)
  func endSleep(_ sleep: UInt32) {
    if sleep == Sleep.awake { return }
    if sleep == Sleep.inPoller {
      // The owner has written it before the sleep that the claim's exchange has read.
      _ = treadle_system_eventfd_write(state.wakeDescriptor.load(ordering: .relaxed))
    } else {
      Futex.wake(Futex.address(of: state.sleeping), 1)
    }
    // Behind the last use of what `closeSleep` closes.
    state.kicking.subtract(1, ordering: .releasing)
  }

  /// A descriptor that interrupts runs which return on interrupts; -1 for none.
  package func setInterruptDescriptor(_ number: Int32) throws(Failure) {
    if number >= 0 { try Item.demandOpen(number) }
    state.interruptDescriptor.store(max(number, -1), ordering: .sequentiallyConsistent)
    interruptSleep()
  }

  /// The thread is gone: no more sleeps; waits for those who are just ending one, then closes what the kernel has for
  /// them. Of this exchange and that of `claimSleeper` one is first: either no thread gets a sleep any more, or one
  /// that has got it was counted before. All four operations are sequentially consistent, since the owner's store at
  /// the end of a sleep may be between the two exchanges: then this one does not read what that of `claimSleeper` has
  /// released.
  func closeSleep() {
    _ = state.sleeping.exchange(Sleep.awake, ordering: .sequentiallyConsistent)
    var patience = Patience()
    while state.kicking.load(ordering: .sequentiallyConsistent) != 0 { patience.wait() }
    closeLookouts()
    lock()
    forgetPollables()
    for slot in state.modes.elements { Mode(slot: slot)?.closePoller() }
    let wake = state.wakeDescriptor.exchange(-1, ordering: .relaxed)
    let timer = state.timerDescriptor.exchange(-1, ordering: .relaxed)
    unlock()
    if wake >= 0 { _ = treadle_system_close(wake) }
    if timer >= 0 { _ = treadle_system_close(timer) }
  }
}
