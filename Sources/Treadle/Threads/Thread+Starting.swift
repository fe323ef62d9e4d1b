// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Starting a thread, and waiting until it is ready (THR-2, THR-5, THR-18).
extension Thread {
  package func start() throws(Failure) {
    if treadle_system_is_closed() { throw Shutdown.failure }
    let mutex = self.mutex
    mutex.lock()
    let isFirst = state.pointee.phase.load(ordering: .relaxed) == Phase.created
    let isCancelled = self.isCancelled
    if isFirst { state.pointee.phase.store(isCancelled ? Phase.finished : Phase.starting, ordering: .releasing) }
    mutex.unlock()
    if !isFirst { throw Failure(Status.state, "thread", "was started before") }
    if isCancelled {
      abandon()
      tellReadiness(Readiness.ended)
      return
    }
    MultiThreading.begin()
    // The reference is the thread's until its end.
    state.pointee.reference.retainHeld()
    let result = launch()
    if result < 0 {
      mutex.lock()
      state.pointee.flags.bitwiseAnd(~(Flag.planned | Flag.refused), ordering: .sequentiallyConsistent)
      state.pointee.phase.store(Phase.created, ordering: .releasing)
      mutex.unlock()
      drop()
      throw Failure.system("thread", result)
    }
  }

  private func launch() -> Int32 {
    var plan = treadle_system_thread_plan()
    let mutex = self.mutex
    mutex.lock()
    plan.stack_size = state.pointee.stackSize
    plan.policy = state.pointee.policy
    plan.priority = state.pointee.priority
    plan.is_detached = state.pointee.joining == Joining.detached ? 1 : 0
    setFlag(Flag.planned)
    mutex.unlock()
    var pthread: UInt = 0
    var result = treadle_system_thread_start(&plan, Thread.run, UnsafeMutableRawPointer(state), &pthread)
    if result < 0 && plan.policy != 0 {
      // The policy is not permitted: better an ordinary thread than none (THR-13).
      plan.policy = 0
      priorityWasRefused()
      result = treadle_system_thread_start(&plan, Thread.run, UnsafeMutableRawPointer(state), &pthread)
    }
    if result == 0 { state.pointee.pthread.store(pthread, ordering: .releasing) }
    return result
  }

  /// A thread's first and last function.
  private static let run: ThreadEntry.Function = { memory in
    guard let memory else { return nil }
    Thread(memory).run()
    return nil
  }

  private func run() {
    treadle_system_thread().pointee.thread = UnsafeMutableRawPointer(state)
    let isWatched = treadle_system_watch_thread() == 0
    state.pointee.kernelID.store(treadle_system_thread_id(), ordering: .releasing)
    state.pointee.pthread.store(treadle_system_thread_self(), ordering: .releasing)
    let mutex = self.mutex
    mutex.lock()
    applyName()
    state.pointee.phase.store(Phase.executing, ordering: .releasing)
    let hasPriority = !state.pointee.isPriorityApplied
    mutex.unlock()
    if hasPriority { applyPriorityOfStart() }
    let mark = Pool.mark
    let entry = state.pointee.entry
    let result = entry.run(self)
    // In the child of a fork that the function made, the object is the parent's.
    if !Runtime.isStarted || !isCurrent { return }
    state.pointee.result = result
    entry.dispose()
    state.pointee.entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    Pool.drain(to: mark)
    announceExit()
    // Else the thread's destructors do it, after the client's own.
    if !isWatched { Thread.leave() }
  }

  // MARK: Readiness

  package func startAndWait(timeout: Int64) throws(Failure) {
    let until = Clock.after(timeout, from: Clock.now())
    let isEndless = until == Clock.forever
    // From before the start on, so that of a circle the thread that closes it is refused.
    try WaitGraph.waiting(for: self, isEndless: isEndless) { token throws(Failure) in
      if isEndless { expectStart(token) }
      try start()
      while true {
        switch state.pointee.ready.load(ordering: .acquiring) {
        case Readiness.ready: return
        case Readiness.ended: throw Failure(Status.state, "thread", "ended before it was ready")
        case Readiness.unknown:
          _ = state.pointee.ready.compareExchange(
            expected: Readiness.unknown, desired: Readiness.awaited, ordering: .sequentiallyConsistent)
        default: break
        }
        if timeout <= 0 || Clock.now() >= until {
          throw Failure(Status.timeout, "timeout_ns", "passed before the thread was ready")
        }
        _ = treadle_system_futex_wait(readyWord, Readiness.awaited, until)
      }
    }
  }

  /// The calling thread is about to start this one and to wait for it.
  private func expectStart(_ starter: WaitToken) {
    let mutex = self.mutex
    mutex.lock()
    if state.pointee.phase.load(ordering: .relaxed) == Phase.created {
      state.pointee.starter = starter
      state.pointee.ready.store(Readiness.awaited, ordering: .sequentiallyConsistent)
    }
    mutex.unlock()
  }

  /// The calling thread is ready, said in words or by entering the first pass of its loop.
  static func declareReady() { existing?.tellReadiness(Readiness.ready) }
  package static func declareReadyInWords() throws(Failure) {
    try Loop.startRuntime()
    declareReady()
  }

  /// The first of all reports counts.
  func tellReadiness(_ readiness: UInt32) {
    var seen = state.pointee.ready.load(ordering: .acquiring)
    while seen == Readiness.unknown || seen == Readiness.awaited {
      if seen == Readiness.awaited { WaitGraph.end(state.pointee.starter) }
      let (isFirst, now) = state.pointee.ready.compareExchange(
        expected: seen, desired: readiness, ordering: .sequentiallyConsistent)
      if isFirst {
        if seen == Readiness.awaited { treadle_system_futex_wake(readyWord, Int32.max) }
        return
      }
      seen = now
    }
  }

  /// Where `ThreadState.ready` lies: the kernel wants its address.
  private var readyWord: UnsafeMutableRawPointer { UnsafeMutableRawPointer(state) + Thread.readyOffset }
  static let readyOffset = 28
}
