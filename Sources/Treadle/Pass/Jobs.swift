// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The jobs that a pass performs: what had been queued when it looked, but nothing that comes later (PERF-4). All of them
/// together are one source of order 0, signalled when the first of them was queued (PERF-5).
struct JobCursor {
  /// The last of them, by its number; 0 when there is none left.
  fileprivate(set) var limit: UInt64 = 0
  fileprivate(set) var isBegun = false
  /// The one before the next, and the loop's `jobRemovals` as of which it stands there.
  fileprivate var before: UnsafeMutablePointer<Job>?
  fileprivate var removals: UInt64 = 0

  var isOver: Bool { limit == 0 }
}

extension Loop {
  @inline(never)
  func openJobs(_ mode: Mode) -> JobCursor {
    lock()
    defer { unlock() }
    moveIncomingJobs()
    var cursor = JobCursor()
    guard let last = state.pointee.lastJob, find(mode, &cursor, upTo: last.pointee.sequence) != nil else { return cursor }
    cursor.limit = last.pointee.sequence
    cursor.removals = state.pointee.jobRemovals
    return cursor
  }

  /// The first job behind the cursor that the mode admits. The lock is held.
  private func find(_ mode: Mode, _ cursor: inout JobCursor, upTo limit: UInt64) -> UnsafeMutablePointer<Job>? {
    // A nested run has performed some, or somebody has cancelled one: the place in the list may be gone.
    if cursor.removals != state.pointee.jobRemovals { cursor.before = nil }
    var next = cursor.before == nil ? state.pointee.firstJob : cursor.before?.pointee.next
    while let job = next, job.pointee.sequence <= limit {
      if admits(mode, job) { return job }
      cursor.before = job
      next = job.pointee.next
    }
    return nil
  }

  /// The next job, in the frame's callout; false when there is none, or when it is a source's turn.
  @inline(never)
  func nextJob(_ frame: Frame.Pointer) -> Bool {
    lock()
    defer { unlock() }
    let mode = frame.pointee.mode
    guard let job = find(mode, &frame.pointee.batch.jobs, upTo: frame.pointee.batch.jobs.limit) else {
      frame.pointee.batch.jobs.limit = 0
      return false
    }
    if !frame.pointee.batch.jobs.isBegun {
      if let entry = frame.pointee.batch.first, let item = mode.stands(entry), (item.order, entry.second) < (0, job.pointee.time) {
        return false
      }
      frame.pointee.batch.jobs.isBegun = true
      frame.pointee.handled = true
    }
    // Of the last one nobody comes back.
    let following = job.pointee.next
    if following == nil || following.map({ $0.pointee.sequence > frame.pointee.batch.jobs.limit }) == true {
      frame.pointee.batch.jobs.limit = 0
    }
    unlink(job, after: frame.pointee.batch.jobs.before)
    frame.pointee.batch.jobs.removals = state.pointee.jobRemovals
    frame.pointee.callout.set(job)
    // From here on it cannot be cancelled any more.
    job.pointee.phase.store(Job.Phase.running, ordering: .releasing)
    return true
  }

  /// What follows a job: whoever waits for it goes on. True: the client may have been called.
  func settleJob(_ frame: Frame.Pointer) -> Bool {
    guard let job = frame.pointee.callout.job else { return false }
    frame.pointee.callout.clear()
    if job.pointee.isAwaited { state.pointee.answers.note() }
    job.pointee.finish(job, state.pointee.hasFailed ? Job.Phase.failed : Job.Phase.done)
    return true
  }
}
