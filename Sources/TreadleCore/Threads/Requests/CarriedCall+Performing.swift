// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A call that is made by its own caller.
private struct DirectCall {
  let call: CarriedCall
  let loop: OpaquePointer?
  var isComplete = true

  mutating func run() {
    call.markRunning()
    isComplete = call.run(on: loop)
    call.finish(CarriedCall.Phase.done)
  }
}

/// Carrying a call to a loop, with or without waiting for its end.
extension CarriedCall {
  /// How the caller waits.
  package enum Wait {
    case none
    case block
    /// Running the caller's own loop in the call mode meanwhile.
    case running
  }

  /// What an error that is thrown says: nothing has happened, and the call may be performed again. Otherwise it is
  /// over, or will be: `Status.ok` (with a wait: it is done), `.cancelled`, `.timeout` (what had not begun is
  /// cancelled), `.closed` (dropped), `.callback` (done on this thread, but a host did not complete it).
  ///
  /// On the loop's own thread a call that is waited for is made directly. The caller holds the loop, and a reference to
  /// the call. modes: nil for the common ones and the call mode; not empty. timeout: of the wait, 0 for none.
  package func perform(on loop: Loop, modes: ModeNames?, wait: Wait, timeout: Int64) throws(Failure) -> Int32 {
    if wait == .none {
      try prepare(for: loop, modes: modes)
      try enqueue(on: loop)
      return Status.ok
    }
    if loop.belongsToCaller { return try performDirectly(on: loop) }
    return try performAndWait(on: loop, modes, runs: wait == .running, timeout: timeout)
  }

  /// Without a wait, and with the caller's reference: unless this throws, the call is the queue's.
  package func performAway(on loop: Loop, modes: ModeNames?) throws(Failure) {
    try prepare(for: loop, modes: modes)
    try enqueue(on: loop, handsOver: true)
  }

  /// Here and now, whatever the loop does (PERF-2).
  package func performDirectly(on loop: Loop?) throws(Failure) -> Int32 {
    retain()
    var direct = DirectCall(call: self, loop: loop?.handlePointer)
    let isOpen = ObjectCall.recorded(0, holding: self, CarriedCall.abandonDirect) {
      ClientCall.during(&direct) { $0?.assumingMemoryBound(to: DirectCall.self).pointee.run() }
    }
    let isComplete = direct.isComplete
    if isForked { return Status.forked }
    if !isOpen {
      release()
      throw Shutdown.failure
    }
    treadle_system_set_errno(state.errno)
    return isComplete ? Status.ok : Status.callback
  }

  /// The calling thread ends inside of the function: the call is over as one whose loop's thread does, and nobody
  /// returns to its caller.
  private static let abandonDirect: ObjectCall.Abandon = { memory in
    let call = memory.assumingMemoryBound(to: CarriedCall.self).pointee
    if call.isForked { return }
    // Else it was over before, and its end has ended the thread.
    if call.phase == Phase.running { call.finish(Phase.dropped) }
    call.state.abandon(call.room)
  }

  private func performAndWait(
    on loop: Loop, _ modes: ModeNames?, runs: Bool, timeout: Int64
  ) throws(Failure) -> Int32 {
    let until = timeout == 0 ? Clock.forever : Clock.after(timeout, from: Clock.now())
    let caller = try Thread.current()
    var own: Loop?
    if runs {
      let current = try Loop.current()
      try current.prepareAwaitedRun()
      own = current
    }
    try prepare(for: loop, modes: modes)
    try beginWait(of: caller, on: loop, runs: runs)
    if let own {
      own.holdAgain()
      state.waitingLoop.store(own.address, ordering: .relaxed)
    }
    do throws(Failure) {
      try enqueue(on: loop)
    } catch {
      leaveWait()
      throw error
    }
    if let own { run(own, until: until) } else { state.completion.wait(loop.answers, until: until) }
    let outcome = endWait(loop)
    if outcome == Status.ok { treadle_system_set_errno(state.errno) }
    return outcome
  }

  private func beginWait(of caller: Thread, on loop: Loop, runs: Bool) throws(Failure) {
    job.pointee.isAwaited = true
    state.edge = WaitEdge(for: loop, isAdmitted: loop.admitsInCallMode(job), runsLoop: runs)
    do throws(Failure) {
      state.token = try withUnsafeMutablePointer(to: &state.edge) { edge throws(Failure) in
        try WaitGraph.begin(edge, of: caller)
      }
    } catch {
      job.pointee.isAwaited = false
      unprepare()
      throw error
    }
  }

  /// Runs the caller's loop in the call mode until the call is over, the deadline has passed, or everything was shut
  /// down.
  private func run(_ own: Loop, until: Int64) {
    let awaited = Awaited(
      UnsafeMutableRawPointer(address),
      isOngoing: { CarriedCall(address: $0).isAwaited },
      abandon: { CarriedCall(address: $0).abandonWait() })
    var hasFailed = false
    while isAwaited && (until == Clock.forever || Clock.now() < until) {
      do throws(Failure) {
        try own.run(until: awaited, deadline: until)
      } catch {
        switch error.status {
        case Status.callback: hasFailed = true
        case Status.closed, Status.forked: break
        default:
          // The kernel refuses to wait for the mode's descriptors: better to wait without them.
          state.completion.wait(queuedOn?.answers, until: until)
        }
      }
    }
    // A host's callback did not complete: that ends the client's run, as it would have without this one.
    if hasFailed { own.failRun() }
  }

  private init(address: UnsafeMutableRawPointer) {
    self.address = address.assumingMemoryBound(to: CarriedCallState.self)
  }

  /// Whether a run that waits for it goes on.
  private var isAwaited: Bool { !isOver && !treadle_system_is_closed_now() && !isForked }

  /// The wait graph forgets the wait, and nobody wakes its loop any more.
  private func leaveWait() {
    WaitGraph.end(state.token)
    takeWaitingLoop()?.drop()
  }

  /// The waiting thread ends, inside of the wait's run.
  private func abandonWait() {
    if isForked { return }
    leaveWait()
    state.abandon(room)
  }

  /// The caller waits no longer: what its call has come to, or comes to by that.
  private func endWait(_ loop: Loop) -> Int32 {
    if isForked { return Status.forked }
    defer { WaitGraph.end(state.token) }
    let isClosed = treadle_system_is_closed_now()
    if !isOver {
      let hasEnded = end(isClosed ? Phase.dropped : Phase.cancelled)
      // Somebody else has taken it out, and is about to say what it came to.
      if !hasEnded && phase == Phase.queued { state.completion.wait(loop.answers, until: Clock.forever) }
      leaveWait()
      // It goes on without a waiter, unless it has come to its end just now.
      if hasEnded || !isOver { return isClosed ? Status.closed : Status.timeout }
    }
    switch phase {
    case Phase.done: return Status.ok
    case Phase.cancelled: return Status.cancelled
    default: return Status.closed
    }
  }
}
