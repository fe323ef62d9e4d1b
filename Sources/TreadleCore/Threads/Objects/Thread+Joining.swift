// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Joining and detaching (THR-17). Every wrong use is told from the object's own state, so that the C
/// library never sees one.
extension Thread {
  package var isDetached: Bool {
    lock()
    defer { unlock() }
    return state.joining == Joining.detached
  }

  /// The result of the thread, once it is gone.
  @_optimize(size)
  package func join(timeout: Int64) throws(Failure) -> UnsafeMutableRawPointer? {
    try claim()
    do throws(Failure) {
      // A thread that was cancelled before its start has no pthread_t, and never will.
      if let pthread = try launched() {
        let until = timeout <= 0 ? 0 : Clock.after(timeout, from: Clock.now())
        try WaitGraph.waiting(for: self, isPoll: timeout <= 0) { _ throws(Failure) in
          // For ever, the wait is the C library's alone: one wake-up ends it.
          if until < Clock.forever {
            state.gone.wait(nil, until: until)
            if !state.gone.isOver { throw Failure(Status.timeout, "timeout_ns", "passed before the thread ended") }
          }
          assert(LockOrder.isClear, "a waiter holds no lock")
          let result = treadle_system_thread_join(pthread)
          if result < 0 { throw Failure.system("thread", result) }
        }
      }
    } catch {
      settleJoin(Joining.joinable)
      throw error
    }
    settleJoin(Joining.joined)
    return state.result
  }

  /// Makes the caller the one who joins.
  @_optimize(size)
  private func claim() throws(Failure) {
    lock()
    defer { unlock() }
    switch state.joining {
    case Joining.detached:
      throw Failure(Status.state, "thread", hasFlag(Flag.foreign) ? "was not started by Treadle" : "is detached")
    case Joining.joined: throw Failure(Status.state, "thread", "was joined before")
    default: break
    }
    if isCurrent { throw Failure(Status.deadlock, "thread", "is the calling one") }
    if state.joining == Joining.inProgress {
      throw Failure(Status.state, "thread", "is being joined by another thread")
    }
    if phase == Phase.created { throw Failure(Status.state, "thread", "was not started") }
    state.joining = Joining.inProgress
  }

  private func settleJoin(_ joining: UInt32) {
    lock()
    state.joining = joining
    unlock()
  }

  /// The pthread_t of a thread that was started; nil if it never ran. Whoever starts it stores it right
  /// after the system has made the thread, and so does the thread itself before it executes.
  private func launched() throws(Failure) -> UInt? {
    var patience = Patience()
    while true {
      // The phase first: a thread stores its pthread_t before it executes, so a finished one without has never run.
      let phase = self.phase
      let pthread = state.pthread.load(ordering: .acquiring)
      if pthread != 0 { return pthread }
      switch phase {
      case Phase.finished: return nil
      case Phase.created: throw Failure(Status.state, "thread", "was not started: the system had no room for it")
      default:
        // In the handlers of the very first start, which comes after them.
        if MultiThreading.isAnnouncing { throw Failure(Status.state, "thread", "is about to be started") }
        patience.wait()
      }
    }
  }

  /// Nobody will join the thread.
  @_optimize(size)
  package func detach() throws(Failure) {
    lock()
    let joining = state.joining
    let isStarted = hasFlag(Flag.planned)
    if joining == Joining.joinable { state.joining = Joining.detached }
    unlock()
    switch joining {
    case Joining.detached:
      throw Failure(
        Status.state, "thread", hasFlag(Flag.foreign) ? "was not started by Treadle" : "is detached already")
    case Joining.inProgress: throw Failure(Status.state, "thread", "is being joined by another thread")
    case Joining.joined: throw Failure(Status.state, "thread", "was joined before")
    default: break
    }
    if isStarted, let pthread = try? launched() { _ = treadle_system_thread_detach(pthread) }
  }

  /// Whether nothing runs on the thread that a handle means, or meant: it is gone, was not started, or its start has
  /// failed.
  package static func isAtRest(_ handle: Handle) -> Bool {
    guard let memory = Slab(.thread).find(handle) else { return true }
    return Thread(memory).isAtRest
  }
  private var isAtRest: Bool { phase == Phase.created || state.gone.isOver }

  /// Its scope is closed: it is told to end, and when nothing runs on it, it is joined, and no client owns it any more.
  /// True if it is the calling one.
  package static func endInScope(_ handle: Handle) throws(Failure) -> Bool {
    let thread = try hold(handle.bits, "thread")
    defer { thread.dropLook() }
    thread.state.reference.set(Reference.Mark.awaited)
    thread.stop()
    if thread.isCurrent { return true }
    if thread.isAtRest {
      _ = try? thread.join(timeout: 0)
      thread.state.reference.abandonClients()
    }
    return false
  }
}
