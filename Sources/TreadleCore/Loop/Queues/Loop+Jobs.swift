// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A loop's queue of jobs. Other threads append to the incoming ones under the gate; under the lock they are moved to a
/// list, where those that no mode has admitted yet stay in their order.
extension Loop {
  /// Finds the modes that a job names, and makes them if need be; nil stands for the common ones.
  func resolve(_ modes: ModeNames?, into set: inout ModeSet) throws(Failure) {
    guard let modes else { return }
    lock()
    defer { unlock() }
    try set.append(modes, of: self, "request")
  }

  /// Appends a job and wakes the loop. False when no pass will ever look at it. The caller holds the loop.
  func enqueue(_ job: UnsafeMutablePointer<Job>) -> Bool {
    job.pointee.queuedAt = Clock.lastTick
    if Watch.isListened { treadle_system_probe_request(handle.bits, job.pointee.name.label, job.pointee.name.code) }
    if Watch.isTracing {
      job.pointee.flow = Trace.nextFlow()
      Trace.record(Trace.What.request, subject: job.pointee.name.bits, flow: job.pointee.flow)
    }
    return queue(LoopState.Pending.jobs) { _ in
      // Looked at here, since both ends take the gate for the last time after they said so.
      if !isAlive || treadle_system_is_closed_now() { return false }
      state.jobCount = state.jobCount &+ 1
      job.pointee.next = nil
      job.pointee.previous = state.lastIncomingJob
      job.pointee.isListed = true
      job.pointee.sequence = state.jobCount
      job.pointee.time = SignalTime.next(on: self)
      if let last = state.lastIncomingJob { last.pointee.next = job } else { state.firstIncomingJob = job }
      state.lastIncomingJob = job
      // From here on it can be cancelled: who sees that it is queued finds it in the queue.
      job.pointee.phase.store(Job.Phase.queued, ordering: .releasing)
      return true
    }
  }

  /// Whether there may be a job. Any thread, no lock.
  @inline(__always)
  var hasJobs: Bool { state.pending.load(ordering: .relaxed) & LoopState.Pending.jobs != 0 }

  /// Whether a queued job is eligible in the mode: such a mode is not empty (PERF-6).
  @inline(__always)
  func hasEligibleJob(_ mode: Mode) -> Bool { hasJobs && findEligibleJob(mode) }

  @inline(never)
  private func findEligibleJob(_ mode: Mode) -> Bool {
    lock()
    defer { unlock() }
    moveIncomingJobs()
    var next = state.firstJob
    while let job = next {
      if admits(mode, job) { return true }
      next = job.pointee.next
    }
    return false
  }

  func admits(_ mode: Mode, _ job: UnsafeMutablePointer<Job>) -> Bool {
    if job.pointee.modes.isEmpty {
      return mode.isCommon
        || job.pointee.isForCallMode && mode.slot == state.callMode.load(ordering: .relaxed)
    }
    return job.pointee.modes.contains(mode)
  }

  /// Whether a thread that only runs this loop in the call mode performs it. Nobody else knows of the job yet.
  func admitsInCallMode(_ job: UnsafeMutablePointer<Job>) -> Bool {
    lock()
    defer { unlock() }
    return callModeAdmits(job)
  }

  /// The same of a job that is in the queue. Nil if it has been taken out: then its modes may be gone.
  func admitsInCallMode(queued job: UnsafeMutablePointer<Job>) -> Bool? {
    lock()
    defer { unlock() }
    return moveIncomingJobs(job) ? callModeAdmits(job) : nil
  }

  // MARK: The lock is held

  private func callModeAdmits(_ job: UnsafeMutablePointer<Job>) -> Bool {
    assertHeld()
    guard let mode = Mode(slot: state.callMode.load(ordering: .relaxed)) else { return false }
    return admits(mode, job)
  }

  /// Moves what others have queued to the list of those that wait. Whether `wanted` was queued by then, if that is
  /// asked.
  @discardableResult
  func moveIncomingJobs(_ wanted: UnsafeMutablePointer<Job>? = nil) -> Bool {
    assertHeld()
    state.gate.lock()
    // Under the gate: its maker may be about to queue it, and then it is not in the list.
    let isListed = wanted?.pointee.isListed == true
    let first = state.firstIncomingJob
    let last = state.lastIncomingJob
    state.firstIncomingJob = nil
    state.lastIncomingJob = nil
    state.isCalledFromOutside = false
    if first == nil && state.firstJob == nil { forgetPending(LoopState.Pending.jobs) }
    state.gate.unlock()
    guard let first, let last else { return isListed }
    first.pointee.previous = state.lastJob
    if let end = state.lastJob { end.pointee.next = first } else { state.firstJob = first }
    state.lastJob = last
    return isListed
  }

  func unlink(_ job: UnsafeMutablePointer<Job>) {
    assertHeld()
    let (previous, next) = (job.pointee.previous, job.pointee.next)
    if let previous { previous.pointee.next = next } else { state.firstJob = next }
    if let next { next.pointee.previous = previous } else { state.lastJob = previous }
    job.pointee.isListed = false
    // Passes that are about to go on behind it look from the beginning.
    state.jobRemovals = state.jobRemovals &+ 1
  }

  /// Puts a job back that a pass has taken out, at its place.
  func putBack(_ job: UnsafeMutablePointer<Job>) {
    assertHeld()
    var next = state.firstJob
    while let one = next, one.pointee.sequence < job.pointee.sequence { next = one.pointee.next }
    let previous = next == nil ? state.lastJob : next?.pointee.previous
    (job.pointee.previous, job.pointee.next) = (previous, next)
    if let previous { previous.pointee.next = job } else { state.firstJob = job }
    if let next { next.pointee.previous = job } else { state.lastJob = job }
    job.pointee.isListed = true
    state.jobRemovals = state.jobRemovals &+ 1
    job.pointee.phase.store(Job.Phase.queued, ordering: .releasing)
    state.gate.lock()
    notePending(LoopState.Pending.jobs)
    state.gate.unlock()
  }

  // MARK: Any thread

  /// Takes a job out that no pass has taken yet, for the caller to finish; false if there is none such.
  func takeOut(_ wanted: UnsafeMutablePointer<Job>) -> Bool {
    lock()
    defer { unlock() }
    if !moveIncomingJobs(wanted) { return false }
    unlink(wanted)
    return true
  }

  /// The thread has ended, or treadle_shutdown was called: what is queued is dropped, and who waits for it told
  /// (PERF-9).
  func discardJobs() {
    while hasJobs {
      lock()
      moveIncomingJobs()
      let first = state.firstJob
      if let first { unlink(first) }
      unlock()
      if let first {
        state.counters.discarded.count()
        first.pointee.finish(first, Job.Phase.dropped)
      }
    }
  }
}

/// One thing that a loop is to perform once, or never, and whose end somebody is told: a request, or a call that is
/// carried to the loop. What it is lies around it, in the memory of whoever made it; the queue and the pass know this
/// much.
struct Job: ~Copyable {
  /// Gets the job's address. Does it, on the loop's thread, in a mode. False when a host's callback did
  /// not complete: the run ends.
  typealias Perform = @convention(c) (UnsafeMutableRawPointer, OpaquePointer?, UnsafePointer<CChar>?) -> Bool
  /// It is over: the job's memory may be gone when this returns.
  typealias Finish = @convention(c) (UnsafeMutableRawPointer, UInt32) -> Void
  /// What is asked of a job whose function is an event of a host, in place of performing it.
  enum Ask {
    /// It begins: the event, if it is this host's.
    static let begin: UInt32 = 0
    /// Whether its host fetches it.
    static let isLeft: UInt32 = 1
    /// The host has completed it.
    static let complete: UInt32 = 2
  }
  /// Of a job that may be an event of a host: gets the job's address, an `Ask`, and with `begin` the host and where the
  /// event goes.
  typealias HandOut =
    @convention(c) (UnsafeMutableRawPointer, UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Bool

  /// In this order; the values are the C header's of an invocation.
  enum Phase {
    static let idle: UInt32 = 0
    static let queued: UInt32 = 1
    static let running: UInt32 = 2
    static let done: UInt32 = 3
    static let cancelled: UInt32 = 4
    /// The thread that was to do it has ended, or treadle_shutdown was called.
    static let dropped: UInt32 = 5
    /// A host's callback did not complete. Nobody is told of it as a phase: it counts as done.
    static let failed: UInt32 = 6
  }

  /// Neighbours in its queue, and whether it is in one: written under the loop's gate while it is incoming, and under
  /// the loop's lock after.
  var next: UnsafeMutablePointer<Job>?
  var previous: UnsafeMutablePointer<Job>?
  var isListed: Bool
  /// Counts the jobs of the loop; a pass performs none that came after its look (PERF-4). Written under the gate.
  var sequence: UInt64
  /// The `SignalTime`, which decides on the turn among sources (PERF-5). Written under the gate.
  var time: UInt64
  /// `Phase`. Queued under the gate, running under the lock; after that written by whoever ends it.
  let phase: Atomic<UInt32>
  /// Without modes, the call mode admits it too. Constant once it is queued.
  var isForCallMode: Bool
  /// Somebody waits for the end. Constant once it is queued.
  var isAwaited: Bool
  /// It is an event of a host that is not called. Constant once it is queued.
  var isFetched: Bool
  /// For descriptions: what it is called by, and the kernel's tick at which it was queued. Constant once it is queued.
  var name = CallName.request
  var queuedAt: Int64 = 0
  /// For traces: the number of the arrow from its queueing to its call; 0: none. Constant once it is queued.
  var flow: UInt64 = 0
  let perform: Perform
  let finish: Finish
  let handOut: HandOut?
  /// The modes that admit it. Empty: the common ones. Constant once it is queued.
  var modes: ModeSet

  init(perform: @escaping Perform, finish: @escaping Finish, handOut: HandOut? = nil, isForCallMode: Bool) {
    next = nil
    previous = nil
    isListed = false
    sequence = 0
    time = 0
    phase = Atomic(Phase.idle)
    self.isForCallMode = isForCallMode
    isAwaited = false
    isFetched = false
    self.perform = perform
    self.finish = finish
    self.handOut = handOut
    modes = ModeSet()
  }
}
