// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// What holds of a loop when its outermost run has ended: of its modes, their lists, signals and timers, and of
/// its queues.
///
/// Each function returns what is broken, in words, or nil. Nothing is changed, no memory is allocated.
extension Loop {
  /// A check looks at each member. A loop with more members than this is not checked behind its runs, since a debug
  /// build would become slower with each of them.
  private static let mostChecked: Int32 = 2_000

  /// Ends the program if an invariant is broken, in builds with assertions. The explorer's builds leave it out, since
  /// they would play each of its steps. Owner, behind its outermost run, without a lock.
  @inline(__always)
  func checkInvariants() {
    assert(treadle_system_is_explored() || holdsInvariants(), "an invariant of the loop is broken")
  }

  @inline(never)
  private func holdsInvariants() -> Bool {
    assertOwner()
    if hasManyMembers { return true }
    guard let broken = brokenInvariant() else { return true }
    _ = treadle_system_write(2, broken.utf8Start, broken.utf8CodeUnitCount)
    _ = treadle_system_write(2, "\n", 1)
    return false
  }

  private var hasManyMembers: Bool {
    lock()
    defer { unlock() }
    var count: Int32 = 0
    for slot in state.modes.elements { count &+= Mode(slot: slot)?.state.content.load(ordering: .relaxed) ?? 0 }
    return count > Loop.mostChecked
  }

  /// Takes the lock, and inside of it the gate. Owner.
  func brokenInvariant() -> StaticString? {
    if state.depth.load(ordering: .relaxed) != 0 { return "the depth of runs is 0 behind the outermost run" }
    if state.currentMode.load(ordering: .relaxed) != 0 { return "no mode is current behind the outermost run" }
    lock()
    defer { unlock() }
    return brokenModes() ?? brokenJobs(state.firstJob, upTo: state.lastJob) ?? brokenQueues()
      ?? OwnSlots.brokenInvariant(loop: UnsafeMutableRawPointer(address))
  }

  /// The lock is held.
  private func brokenModes() -> StaticString? {
    assertHeld()
    guard let record, record.isRecord, record.isOf(self) else { return "a loop has its record of common items" }
    guard let standard = defaultMode, standard.isCommon else { return "the default mode is one of the common modes" }
    var (common, hasDefault) = (0, false)
    for slot in state.modes.elements {
      guard let mode = Mode(slot: slot), mode.isOf(self), !mode.isRecord else {
        return "the modes of a loop are the loop's"
      }
      let known = state.modesByName.find(UInt64(mode.state.hash), where: { $0 == UInt(slot) })
      if known == nil { return "a mode is found by its name" }
      if mode.state.runs != 0 { return "no run has a mode behind the outermost run" }
      if mode.isCommon { common &+= 1 }
      if mode.address == standard.address { hasDefault = true }
      if let broken = mode.brokenInvariant() { return broken }
    }
    if !hasDefault { return "the default mode is one of the loop's modes" }
    // The list begins with the default mode, whether it is followed by others or not.
    var next: Mode? = standard
    while let mode = next {
      common &-= 1
      if common < 0 || !mode.isCommon || !mode.isOf(self) { return "the list of common modes has the common modes" }
      next = Mode(slot: mode.state.nextCommon)
    }
    if common != 0 { return "each common mode is in the list of common modes" }
    return record.brokenInvariant()
  }

  /// Jobs are linked in both directions. Under what guards the list.
  private func brokenJobs(_ first: UnsafeMutablePointer<Job>?, upTo last: UnsafeMutablePointer<Job>?) -> StaticString? {
    var (next, previous) = (first, UnsafeMutablePointer<Job>?.none)
    while let job = next {
      if job.pointee.previous != previous { return "a job is behind the job before it" }
      (previous, next) = (job, job.pointee.next)
    }
    return previous == last ? nil : "the last job is the end of the list of jobs"
  }

  /// What others queue. Takes the gate; the lock is held.
  private func brokenQueues() -> StaticString? {
    state.gate.lock()
    defer { state.gate.unlock() }
    let pending = state.pending.load(ordering: .relaxed)
    if queuedCount != 0 && pending & LoopState.Pending.blocks == 0 { return "posts that are queued are pending" }
    if state.firstIncomingJob != nil && pending & LoopState.Pending.jobs == 0 {
      return "jobs that are queued are pending"
    }
    for slot in state.modes.elements {
      guard let mode = Mode(slot: slot) else { continue }
      if mode.state.signalledCount.load(ordering: .relaxed) != mode.state.signalled.count {
        return "the count of signals is that of the queue of signals"
      }
    }
    return nil
  }
}

/// The lock of the mode's loop is held, and no timer is between its queue and its callback.
extension Mode {
  func brokenInvariant() -> StaticString? {
    assertHeld()
    var (content, observers) = (0, 0)
    if let broken = broken(state.sources, .source, &content) { return broken }
    if let broken = broken(state.descriptors, .descriptor, &content) { return broken }
    if let broken = broken(state.ports, .port, &content) { return broken }
    if let broken = broken(state.timers, .timer, &content) { return broken }
    if let broken = broken(state.observers, .observer, &observers) { return broken }
    var (queued, first) = (0, Clock.forever)
    if let queue = state.queue, let broken = queue.pointee.brokenInvariant(&queued, &first) { return broken }
    if first < state.earliest.load(ordering: .relaxed) { return "no timer is due before the earliest date of its mode" }
    if isRecord { return queued == 0 ? nil : "the record of common items has no queue of timers" }
    let isComplete = state.content.load(ordering: .relaxed) == content &+ queued
    return isComplete ? nil : "the content of a mode is the number of its members"
  }

  /// Counts the members of one kind that are content: a timer without a date is none.
  private func broken(_ list: MemberList, _ kind: Kind, _ count: inout Int) -> StaticString? {
    var (next, last) = (list.first, UInt32(0))
    while next != 0 {
      guard let member = Item(kind, slot: next), member.isIn(self) else {
        return "a list of a mode has members of the mode"
      }
      if member.cell.previous != last { return "a member is behind the member before it" }
      if kind != .timer || member.due.place != TimerQueue.Place.idle { count &+= 1 }
      (last, next) = (next, member.cell.next)
    }
    return last == list.last ? nil : "the last member is the end of its list"
  }
}
