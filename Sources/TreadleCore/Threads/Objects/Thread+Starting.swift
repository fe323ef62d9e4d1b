// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Starting a thread, and waiting until it is ready (THR-2, THR-5, THR-18).
extension Thread {
  @_optimize(size)
  package func start() throws(Failure) {
    if treadle_system_is_closed() { throw Shutdown.failure }
    lock()
    let isFirst = state.phase.load(ordering: .relaxed) == Phase.created
    let isCancelled = self.isCancelled
    if isFirst { state.phase.store(isCancelled ? Phase.finished : Phase.starting, ordering: .relaxed) }
    unlock()
    if !isFirst { throw Failure(Status.state, "thread", "was started before") }
    if isCancelled {
      endUnstarted()
      return
    }
    // Where the client ends the calling thread in it, this one is not started.
    ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Thread.self).pointee.takeBackStart() }) {
      MultiThreading.begin()
    }
    // The reference is the thread's until its end.
    state.reference.holdAgain()
    let result = launch()
    MultiThreading.end(isStarted: result >= 0)
    if result < 0 {
      takeBackStart()
      drop()
      throw Failure.system("thread", result)
    }
  }

  /// It may be started again.
  private func takeBackStart() {
    lock()
    state.flags.bitwiseAnd(~(Flag.planned | Flag.refused), ordering: .relaxed)
    state.phase.store(Phase.created, ordering: .relaxed)
    unlock()
  }

  /// The client may end the calling thread in it: waiters for this thread are told all the same.
  private func endUnstarted() {
    ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Thread.self).pointee.endUnstarted() }) {
      abandon()
    }
    tellReadiness(Readiness.ended)
    state.gone.end()
  }

  @_optimize(size)
  private func launch() -> Int32 {
    var plan = treadle_system_thread_plan()
    lock()
    plan.stack_size = state.stackSize
    plan.policy = state.policy
    plan.priority = state.priority
    plan.is_detached = state.joining == Joining.detached ? 1 : 0
    setFlag(Flag.planned)
    unlock()
    var pthread: UInt = 0
    var result = treadle_system_thread_start(&plan, Thread.run, UnsafeMutableRawPointer(address), &pthread)
    if result < 0 && plan.policy != 0 {
      // The policy is not permitted: better an ordinary thread than none (THR-13).
      plan.policy = 0
      priorityWasRefused()
      result = treadle_system_thread_start(&plan, Thread.run, UnsafeMutableRawPointer(address), &pthread)
    }
    if result == 0 { state.pthread.store(pthread, ordering: .releasing) }
    return result
  }

  /// A thread's first and last function.
  private static let run: ThreadEntry.Function = { memory in
    guard let memory else { return nil }
    Thread(memory).run()
    return nil
  }

  private func run() {
    treadle_system_thread().pointee.thread = UnsafeMutableRawPointer(address)
    treadle_system_thread().pointee.first_pass = { Thread.declareReady() }
    let isWatched = treadle_system_watch_thread() == 0
    state.kernelID.store(Runtime.threadID, ordering: .relaxed)
    state.pthread.store(treadle_system_thread_self(), ordering: .releasing)
    lock()
    applyName()
    state.phase.store(Phase.executing, ordering: .releasing)
    let hasPriority = !state.isPriorityApplied
    unlock()
    if hasPriority { applyPriorityOfStart() }
    let mark = Pool.mark
    let entry = state.entry
    let result = entry.run(handle.bits)
    // In the child of a fork that the function made, the object is the parent's.
    if !Runtime.isStarted || !isCurrent { return }
    state.result = result
    entry.dispose()
    state.entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    Pool.drain(to: mark)
    announceExit()
    // Else the thread's destructors do it, after the client's own.
    if !isWatched { Thread.leave() }
  }

  // MARK: Readiness

  @_optimize(size)
  package func startAndWait(timeout: Int64) throws(Failure) {
    let until = timeout <= 0 ? 0 : Clock.after(timeout, from: Clock.now())
    if hasFlag(Flag.awaited) { return try awaitAgain(until: until) }
    // From before the start on, so that of a circle the thread that closes it is refused.
    try WaitGraph.waiting(for: self, isPoll: timeout <= 0) { token throws(Failure) in
      expectStart(token)
      try start()
      try awaitReadiness(until: until)
    }
  }

  /// The wait has timed out before. `starter` names that one, so the thread could not end this one before it waits for
  /// the caller itself: it stands in nobody's way.
  private func awaitAgain(until: Int64) throws(Failure) {
    do throws(Failure) {
      try WaitGraph.waiting(for: self, isPoll: true) { _ throws(Failure) in try awaitReadiness(until: until) }
    } catch {
      // The thread waits for the caller, but since it was ready.
      if error.status != Status.deadlock || !state.readiness.isOver { throw error }
      try awaitReadiness(until: 0)
    }
  }

  private func awaitReadiness(until: Int64) throws(Failure) {
    state.readiness.wait(nil, until: until)
    if !state.readiness.isOver {
      setFlag(Flag.awaited)
      throw Failure(Status.timeout, "timeout_ns", "passed before the thread was ready")
    }
    switch state.readiness.outcome {
    case Readiness.ended: throw Failure(Status.state, "thread", "ended before it was ready")
    case Readiness.endedIdle:
      throw Failure(
        Status.state, "thread", "ended before it was ready: its mode was empty, so the run finished at once")
    default: break
    }
  }

  /// The calling thread is about to start this one and to wait for it.
  private func expectStart(_ starter: WaitToken) {
    lock()
    if state.phase.load(ordering: .relaxed) == Phase.created {
      state.starter = starter
    }
    unlock()
  }

  /// The calling thread is ready, said in words or by entering the first pass of its loop.
  static func declareReady() {
    treadle_system_thread().pointee.first_pass = nil
    existing?.tellReadiness(Readiness.ready)
  }
  package static func declareReadyInWords() throws(Failure) {
    try Runtime.start()
    declareReady()
  }

  /// The first of all reports counts.
  func tellReadiness(_ readiness: UInt32) {
    if state.readiness.isOver { return }
    // Before the waiter can know, since it may be long until that runs again.
    WaitGraph.end(state.starter)
    state.readiness.endFirst(readiness)
  }
}
