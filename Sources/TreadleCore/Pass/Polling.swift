// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Runs of a loop that another loop waits for (`Pollables.swift`): between them its pollable descriptors are armed.
extension Loop {
  /// A descriptor, for the caller to close, that is readable when a run of a mode would have something to do. Owner.
  @_optimize(size)
  func openOwnPollable(_ name: ModeName) throws(Failure) -> Int32 {
    if treadle_system_is_closed() { throw Shutdown.failure }
    try demandNoCommonMode(name)
    let number = try withLock { () throws(Failure) in
      let mode = try findOrMakeUnlistedMode(name)
      let poller = try mode.needPoller(self)
      if state.timerDescriptor.load(ordering: .relaxed) < 0 {
        throw Failure.system("timerfd_create", 0 &- treadle_system_enosys())
      }
      let isNew = !mode.isPollable
      let result = poller.needPollable()
      if result < 0 { throw Failure.system("epoll_create1", result) }
      if isNew {
        mode.holdAgain()
        mode.state.nextPollable = state.firstPollable
        state.firstPollable = mode.slot
      }
      let number = treadle_system_duplicate(poller.state.pollable)
      if number < 0 { throw Failure.system("fcntl", number) }
      return number
    }
    // What came before was not told to anybody.
    if isAtRest { armPollables(isWoken: true) }
    return number
  }

  func demandNoCommonMode(_ name: ModeName) throws(Failure) {
    if CommonModes.isCommon(name) {
      throw Failure(Status.argument, "mode", "is the name of the common modes themselves")
    }
  }

  /// A run begins, which sleeps itself. In no order, as the end of a run's own sleep. Owner.
  func disarmPollables() { state.sleeping.store(Sleep.awake, ordering: .relaxed) }

  /// The last run has ended: from here on others sleep for the loop. Looks for what a sleep of a run looks for, and for
  /// what runs of other modes have left. Owner.
  @_optimize(size)
  @inline(never)
  func armPollables(isWoken wasWoken: Bool) {
    if hasLookouts { handOverLookouts(but: nil) }
    // Acquires the changes that are counted here already: what follows looks at them.
    let changes = state.changes.load(ordering: .acquiring)
    var isReady = wasWoken
    var until = Clock.forever
    forEachPollable { mode, poller in
      until = min(until, mode.nextWake())
      if poller.hasEvents || poller.state.alwaysReadyCount.load(ordering: .relaxed) != 0 { isReady = true }
      if hasLeft(mode) { isReady = true }
    }
    // A timer that the kernel refuses is one that is due: the run tells of the refusal.
    if setTimer(until) < 0 { isReady = true }
    state.gate.lock()
    forEachPollable { mode, _ in
      if mode.state.signalledCount.load(ordering: .relaxed) != 0 || !mode.state.ownSignals.isEmpty { isReady = true }
      if mode.hasReadyPorts { isReady = true }
    }
    state.sleeping.store(Sleep.inPoller, ordering: .sequentiallyConsistent)
    state.gate.unlock()
    if isReady || isWoken || isStopAsked || state.changes.load(ordering: .sequentiallyConsistent) != changes {
      kickSleeper()
    }
  }

  /// A run has ended without a pass: what the kernel had for one is taken. Owner.
  @_optimize(size)
  @inline(never)
  func rearmPollables() {
    if !hasPollables || frame != nil { return }
    forEachPollable { mode, _ in _ = mode.pollDescriptors() }
    armPollables(isWoken: false)
  }
}
