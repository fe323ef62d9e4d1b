// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A request in the queue of a loop. That of somebody who waits for the end lies on his stack, any other in memory of
/// its own.
struct RequestJob: ~Copyable {
  /// First: the loop's queue knows the request by it.
  var job: Job
  var request: WorkItem
  /// Who waits for the end, if anybody.
  var waiter: UnsafeMutablePointer<Waiter>?

  typealias Pointer = UnsafeMutablePointer<RequestJob>

  init(_ request: WorkItem, waiter: UnsafeMutablePointer<Waiter>? = nil, isForCallMode: Bool = false) {
    job = Job(
      perform: RequestJob.performJob, finish: RequestJob.finishJob, handOut: RequestJob.handOutJob,
      isForCallMode: isForCallMode)
    job.isAwaited = waiter != nil
    job.name = request.name
    job.isFetched = request.carried.indirect.isFetched
    // A wait cannot hand it out, and must not end by it.
    if job.isFetched { job.isForCallMode = false }
    self.request = request
    self.waiter = waiter
  }

  /// What came of a request for which somebody waits; a `Completion`'s outcome.
  enum Outcome {
    static var done: UInt32 { Completion.over }
    /// The thread that was to do it has ended, or treadle_shutdown was called.
    static var dropped: UInt32 { Completion.over + 1 }
    /// A host's callback did not complete.
    static var failed: UInt32 { Completion.over + 2 }
  }

  static func allocate(_ request: WorkItem, isForCallMode: Bool = false) -> Pointer? {
    guard let memory = treadle_system_allocate(MemoryLayout<RequestJob>.size) else { return nil }
    let node = memory.bindMemory(to: RequestJob.self, capacity: 1)
    node.initialize(to: RequestJob(request, isForCallMode: isForCallMode))
    return node
  }

  /// The memory of a request that is the caller's again, or over.
  static func free(_ node: Pointer) {
    node.pointee.job.modes.free()
    if node.pointee.waiter == nil { treadle_system_free(node) }
  }

  /// The job is the first member.
  static func job(_ node: Pointer) -> UnsafeMutablePointer<Job> {
    UnsafeMutableRawPointer(node).assumingMemoryBound(to: Job.self)
  }
  private static func of(_ job: UnsafeMutableRawPointer) -> Pointer { job.assumingMemoryBound(to: RequestJob.self) }

  /// On the thread that is to do it; false when a host's callback did not complete.
  private static let performJob: Job.Perform = { job, loop, mode in
    let node = of(job)
    guard let waiter = node.pointee.waiter else {
      let isComplete = node.pointee.request.perform(on: loop, mode: mode)
      if isComplete { node.pointee.request.complete() }
      return isComplete
    }
    waiter.pointee.edge.markBegun()
    let own = treadle_system_errno()
    treadle_system_set_errno(waiter.pointee.errno)
    let isComplete = node.pointee.request.perform(on: loop, mode: mode)
    waiter.pointee.errno = treadle_system_errno()
    treadle_system_set_errno(own)
    if isComplete { node.pointee.request.complete() }
    return isComplete
  }

  private static let handOutJob: Job.HandOut = { job, ask, host, event in
    let node = of(job)
    switch ask {
    case Job.Ask.begin:
      guard let host, let event = event?.assumingMemoryBound(to: Event.self), node.pointee.request.begin(for: host)
      else { return false }
      node.pointee.waiter?.pointee.edge.markBegun()
      event.pointee = node.pointee.request.carried.event(on: event.pointee.loop, mode: event.pointee.mode)
      return true
    case Job.Ask.isLeft: return node.pointee.request.isFetched
    default:
      node.pointee.request.complete()
      return true
    }
  }

  private static let finishJob: Job.Finish = { job, phase in
    switch phase {
    case Job.Phase.dropped: finish(of(job), Outcome.dropped)
    case Job.Phase.failed: finish(of(job), Outcome.failed)
    default: finish(of(job), Outcome.done)
    }
  }

  /// The request is over: what it holds goes back, then whoever waits for it goes on, and the node with him.
  static func finish(_ node: Pointer, _ outcome: UInt32) {
    let waiter = node.pointee.waiter
    let request = node.pointee.request
    free(node)
    guard let waiter else { return request.dispose() }
    let end = WaitEnd(waiter: waiter, outcome: outcome)
    ObjectCall.recorded(0, holding: end, { $0.assumingMemoryBound(to: WaitEnd.self).pointee.tell() }) {
      request.dispose()
    }
    end.tell()
  }

  /// The end of the waiter's wait, also if a release of the request ends the thread.
  private struct WaitEnd {
    let waiter: UnsafeMutablePointer<Waiter>
    let outcome: UInt32

    func tell() {
      waiter.pointee.edge.markOver()
      waiter.pointee.completion.end(outcome)
    }
  }
}

/// A request that somebody will make later, with all that this needs, so that it cannot fail for want of memory then.
/// Ends with `post` or `discard`.
package struct LaterRequest {
  private let node: RequestJob.Pointer
  private let loop: Loop

  /// In the common modes and the call mode of a loop. Takes the request over unless it throws.
  package init(_ request: WorkItem, on loop: Loop) throws(Failure) {
    _ = try loop.findOrMakeCallMode()
    guard let node = RequestJob.allocate(request, isForCallMode: true) else { throw Failure.noMemory("completion") }
    loop.holdAgain()
    self.node = node
    self.loop = loop
  }

  /// Has it performed; when the loop has ended, only its releases are called.
  package consuming func post() {
    if !loop.enqueue(RequestJob.job(node)) {
      loop.droppedIfThreadEnds { RequestJob.finish(node, RequestJob.Outcome.dropped) }
    }
    loop.drop()
  }

  /// Gives the request back to its maker, who still has it.
  package consuming func discard() {
    RequestJob.free(node)
    loop.drop()
  }
}
