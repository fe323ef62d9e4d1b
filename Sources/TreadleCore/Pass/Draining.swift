// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Draining the queue of blocks (BLK-5): what is queued now is taken, and run in order as far as the mode admits it;
/// what it does not admit waits ahead of everything queued meanwhile.
extension Loop {
  @inline(__always)
  func openBlocks(_ frame: Frame.Pointer) -> Bool {
    state.pending.load(ordering: .relaxed) & LoopState.Pending.blocks != 0 && takeBlocks(frame)
  }

  /// Detaches the queue: older blocks that no run was eligible for come first.
  @inline(never)
  private func takeBlocks(_ frame: Frame.Pointer) -> Bool {
    var taken = state.deferred.isEmpty ? Buffer() : takeDeferred()
    let olderCount = taken.count
    var hasGroups = false
    takePosts(&taken) { count in
      hasGroups = state.pending.load(ordering: .relaxed) & LoopState.Pending.groups != 0
      state.drained.store(UInt32(truncatingIfNeeded: olderCount &+ count), ordering: .relaxed)
      noteTaken(count)
      frame.pointee.batch.firstNew = olderCount
      frame.pointee.batch.firstPlace = state.takenCount &- UInt64(truncatingIfNeeded: olderCount)
      state.takenCount = state.takenCount &+ UInt64(truncatingIfNeeded: count)
    }
    noteDrain(of: taken.count)
    swap(&taken, &frame.pointee.batch.entries)
    keepRoom(taken)
    if hasGroups { noteDrained(frame.pointee.batch.entries) }
    frame.pointee.batch.open(.blocks)
    return true
  }

  /// The next block of the drain, or its end. callingGroups: posts of groups are called here.
  @inline(__always)
  func nextBlock(_ frame: Frame.Pointer, callingGroups: Bool = false) -> Bool {
    if frame.pointee.callout.kind == .block {
      settleBlock(frame)
    } else if !callingGroups && frame.pointee.callout.kind == .scopedPost && nextOfGroup(frame) {
      return true
    }
    while !mustEnd(frame), let entry = frame.pointee.batch.first {
      if admits(frame.pointee.mode, entry) {
        if let group = PostGroup(entry) {
          if beginGroup(group, frame) {
            if !callingGroups { return true }
            if !callGroup(frame) { return false }
          }
          continue
        }
        frame.pointee.batch.skip()
        frame.pointee.callout.set(entry)
        return true
      }
      keepFirst(frame)
    }
    endDrain(frame)
    return closeBatch(frame)
  }

  /// A block that the mode does not admit waits for a later drain. While a trace is recorded, a plain post becomes a
  /// node, which knows what arrow leads to it.
  @inline(__always)
  func keepFirst(_ frame: Frame.Pointer) {
    if Watch.isTracing { keepArrow(frame) }
    frame.pointee.batch.keepFirst()
  }

  @inline(never)
  private func keepArrow(_ frame: Frame.Pointer) {
    guard let entry = frame.pointee.batch.first, let code = entry.code, let place = frame.pointee.batch.placeOfFirst
    else { return }
    var block = BlockNode(WorkItem(post: code, entry.info))
    block.flow = Trace.flow(ofPost: place, to: handle.bits)
    if let node = BlockNode.allocateUnrecorded(block) { frame.pointee.batch.replaceFirst(Entry(node)) }
  }

  @inline(__always)
  func settleBlock(_ frame: Frame.Pointer) {
    frame.pointee.callout.clear()
    if let node = frame.pointee.callout.block.node { BlockNode.free(node) }
  }

  // MARK: Groups

  private func posts(_ frame: Frame.Pointer) -> ScopePosts.Pointer {
    withUnsafeMutablePointer(to: &frame.pointee.posts) { $0 }
  }

  /// Begins the next entry of the batch, a group: its first post is the frame's callout. False if none of its posts is
  /// called.
  @inline(never)
  private func beginGroup(_ group: PostGroup, _ frame: Frame.Pointer) -> Bool {
    frame.pointee.batch.skip()
    frame.pointee.uncalledCount &+= 1
    if ScopePosts.begin(posts(frame), of: group.scope, count: group.count) { return callNextOfGroup(frame) }
    for _ in 0..<group.count { frame.pointee.batch.skip() }
    frame.pointee.uncalledCount &+= group.count
    return false
  }

  /// Calls the posts of the group that has begun. False: this is the child of a fork.
  @inline(never)
  @_optimize(speed)
  private func callGroup(_ frame: Frame.Pointer) -> Bool {
    repeat {
      if !callBlock(frame) { return false }
    } while nextOfGroup(frame)
    return true
  }

  /// The next post of the group, or its end: then what is left of it is the next entry of the batch.
  @inline(__always)
  private func nextOfGroup(_ frame: Frame.Pointer) -> Bool {
    // Its mode is common still, and for good.
    let isLeft = frame.pointee.posts.left.load(ordering: .relaxed) != 0
    if isLeft, !mustEnd(frame), let scope = frame.pointee.posts.scope, !scope.hasEndedPosts {
      return callNextOfGroup(frame)
    }
    settleScopedPost(frame)
    return false
  }

  @inline(__always)
  private func callNextOfGroup(_ frame: Frame.Pointer) -> Bool {
    guard let post = frame.pointee.batch.takeFirst() else { return false }
    frame.pointee.posts.left.store(frame.pointee.posts.left.load(ordering: .relaxed) &- 1, ordering: .relaxed)
    frame.pointee.callout.set(scopedPost: post)
    return true
  }

  /// What follows a post of a group, without taking the next one: the scope is left.
  func settleScopedPost(_ frame: Frame.Pointer) {
    frame.pointee.callout.clear()
    let left = Int(frame.pointee.posts.left.load(ordering: .relaxed))
    if left != 0, let scope = frame.pointee.posts.scope {
      // In the place of the one that was called.
      frame.pointee.batch.putBack(PostGroup(of: scope).with(count: left).entry)
      frame.pointee.uncalledCount &-= 1
    }
    ScopePosts.end(posts(frame))
  }

  /// How many posts of a batch with groups are to be called.
  private func noteDrained(_ entries: Buffer<Entry>) {
    state.drained.store(UInt32(truncatingIfNeeded: PostGroup.countOfPosts(in: entries)), ordering: .relaxed)
  }

  /// What the drain has not run goes ahead of what has been queued since, and of what a nested run has put off.
  func endDrain(_ frame: Frame.Pointer) {
    state.running.store(0, ordering: .relaxed)
    state.drained.store(0, ordering: .relaxed)
    assert(frame.pointee.posts.scope == nil, "posts of a scope are settled before the batch ends")
    state.counters.posts.count(frame.pointee.batch.calledCount &- frame.pointee.uncalledCount)
    frame.pointee.uncalledCount = 0
    while !frame.pointee.batch.isEmpty { keepFirst(frame) }
    frame.pointee.batch.entries.truncate(frame.pointee.batch.keptCount)
    if frame.pointee.batch.keptCount == 0 { return shrink(&frame.pointee.batch.entries) }
    lock()
    var newer = state.deferred
    state.deferred = Buffer()
    swap(&state.deferred, &frame.pointee.batch.entries)
    // All or none: a group has all of its posts.
    let isKept = state.deferred.reserve(state.deferred.count &+ newer.count)
    if isKept { for entry in newer.elements { _ = state.deferred.appendInRoom(entry) } }
    unlock()
    // Out of memory: the blocks cannot be kept, but their info goes back.
    if !isKept { for entry in newer.elements { if let node = entry.node { BlockNode.free(node) } } }
    newer.free()
    state.gate.lock()
    notePending(LoopState.Pending.blocks | LoopState.Pending.groups)
    state.gate.unlock()
  }

  /// Whether a queued block is eligible in the mode: such a mode is not empty (MODE-7, BLK-6).
  @inline(__always)
  func hasEligibleBlock(_ mode: Mode) -> Bool {
    if hasQueuedBlock(mode) { return true }
    var frame = self.frame
    while let run = frame {
      if run.pointee.batch.kind == .blocks {
        for entry in run.pointee.batch.entries.elements.dropFirst(run.pointee.batch.index) where admits(mode, entry) {
          return true
        }
      }
      frame = run.pointee.outer
    }
    return false
  }

  /// Whether a block that is eligible in the mode waits in the queue, where no run has taken it.
  @inline(__always)
  private func hasQueuedBlock(_ mode: Mode) -> Bool {
    state.pending.load(ordering: .relaxed) & LoopState.Pending.blocks != 0 && findQueuedBlock(mode)
  }

  /// Whether a post or request waits in the queues that the mode's next run calls.
  func hasQueued(_ mode: Mode) -> Bool { hasQueuedBlock(mode) || hasEligibleJob(mode) }
  /// Whether there is any post or request in the queues, whatever modes call it.
  @inline(__always)
  var hasAnyQueued: Bool {
    state.pending.load(ordering: .relaxed) & (LoopState.Pending.blocks | LoopState.Pending.jobs) != 0
  }
  /// Whether a post or request waits for the mode's next run that runs of other modes were woken for.
  @inline(__always)
  func hasLeft(_ mode: Mode) -> Bool { state.hasLeft && hasQueued(mode) }

  @inline(never)
  private func findQueuedBlock(_ mode: Mode) -> Bool {
    for entry in state.deferred.elements where admits(mode, entry) { return true }
    state.gate.lock()
    defer { state.gate.unlock() }
    var isFound = false
    forEachPart { entries in
      for entry in entries.elements where admits(mode, entry) { isFound = true }
      return !isFound
    }
    return isFound
  }
}

/// The jobs that a pass performs: what had been queued when it looked, but nothing that comes later (PERF-4). All of
/// them together are one source of order 0, signalled when the first of them was queued (PERF-5).
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
    guard let last = state.lastJob, find(mode, &cursor, upTo: last.pointee.sequence) != nil else { return cursor }
    cursor.limit = last.pointee.sequence
    cursor.removals = state.jobRemovals
    return cursor
  }

  /// The first job behind the cursor that the mode admits. The lock is held.
  private func find(_ mode: Mode, _ cursor: inout JobCursor, upTo limit: UInt64) -> UnsafeMutablePointer<Job>? {
    assertHeld()
    // A nested run has performed some, or somebody has cancelled one: the place in the list may be gone.
    if cursor.removals != state.jobRemovals { cursor.before = nil }
    var next = cursor.before == nil ? state.firstJob : cursor.before?.pointee.next
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
      if let entry = frame.pointee.batch.first, let item = mode.signalled(entry),
        (item.order, entry.second) < (0, job.pointee.time)
      {
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
    unlink(job)
    frame.pointee.batch.jobs.removals = state.jobRemovals
    frame.pointee.callout.set(job)
    // From here on it cannot be cancelled any more. A thread that reads this uses nothing else of the job.
    job.pointee.phase.store(Job.Phase.running, ordering: .relaxed)
    return true
  }

  /// What follows a job, which is no callout any more: whoever waits for it goes on, and the client may be called.
  func settleJob(_ job: UnsafeMutablePointer<Job>, _ outcome: Outcome) {
    if outcome == .leftToHost {
      lock()
      defer { unlock() }
      return putBack(job)
    }
    if outcome == .abandoned { return job.pointee.finish(job, Job.Phase.dropped) }
    state.running.store(0, ordering: .relaxed)
    state.counters.requests.count()
    if job.pointee.isAwaited { state.answers.note() }
    job.pointee.finish(job, hasFailed ? Job.Phase.failed : Job.Phase.done)
  }
}
