// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Performing a function on a loop's thread (PERF-1 to PERF-10).
extension Loop {
  /// What became of a request that was taken over: it was, whatever this returns. An error that is thrown means that it
  /// was not. The caller holds the loop.
  ///
  /// modes: nil for the common ones.
  package func perform(_ request: WorkItem, modes: ModeNames?, _ awaited: WorkItem.Awaited) throws(Failure) -> Int32 {
    if try request.isForNoMode(modes) { return Status.ignored }
    if case .itsEnd = awaited {
      let caller = try Thread.current()
      if belongsToCaller { return try request.performDirectly() }
      return try request.performing { request throws(Failure) in try performAndWait(request, modes, as: caller) }
    }
    return try request.performing { request throws(Failure) in
      guard let node = RequestJob.allocate(request) else { throw Failure.noMemory("request") }
      try prepare(node, modes)
      guard case .word(let word, let timeout) = awaited else { return enqueue(node) }
      let isAdmitted = admitsInCallMode(RequestJob.job(node))
      guard let status = word.wait(for: self, isAdmitted: isAdmitted, timeout: timeout, { enqueue(node) }) else {
        return RequestJob.refuse(node, Status.deadlock)
      }
      return status
    }
  }

  private func enqueue(_ node: RequestJob.Pointer) -> Int32 {
    enqueue(RequestJob.job(node)) ? Status.ok : RequestJob.refuse(node, Status.closed)
  }

  private func performAndWait(_ request: WorkItem, _ modes: ModeNames?, as caller: Thread) throws(Failure) -> Int32 {
    var waiter = Waiter()
    let result = try withUnsafeMutablePointer(to: &waiter) { waiter throws(Failure) in
      var node = RequestJob(request, waiter: waiter)
      return try withUnsafeMutablePointer(to: &node) { node throws(Failure) in
        try prepare(node, modes)
        guard let work = request.work else { return performAndWait(node, waiter, as: caller, nil) }
        ScopeWork.retain(work)
        placeWork(work, node)
        var result = Status.ok
        ScopeWork.releasing(work) {
          result = performAndWait(node, waiter, as: caller, work)
          if result == Status.ok && ScopeWork.isCancelled(work) { result = Status.closed }
        }
        return result
      }
    }
    // Last: nothing that follows may change it.
    if result == Status.ok || result == Status.callback { treadle_system_set_errno(waiter.errno) }
    return result
  }

  private func performAndWait(
    _ node: RequestJob.Pointer, _ waiter: UnsafeMutablePointer<Waiter>, as caller: Thread, _ work: ScopeWork.Pointer?
  ) -> Int32 {
    let job = RequestJob.job(node)
    waiter.pointee.edge = WaitEdge(for: self, isAdmitted: admitsInCallMode(job), runsLoop: false)
    return withUnsafeMutablePointer(to: &waiter.pointee.edge) { edge in
      let token: WaitToken
      do throws(Failure) {
        token = try WaitGraph.begin(edge, of: caller)
      } catch { return RequestJob.refuse(node, error.status) }
      if !enqueue(job) {
        WaitGraph.end(token)
        // Last, since a release may end the thread.
        return RequestJob.refuse(node, Status.closed)
      }
      defer { WaitGraph.end(token) }
      // The scope was closed before it was there to be taken out.
      if let work, ScopeWork.isCancelled(work), takeOut(job) { RequestJob.finish(node, RequestJob.Outcome.dropped) }
      waiter.pointee.completion.wait(answers, until: Clock.forever)
      switch waiter.pointee.completion.outcome {
      case RequestJob.Outcome.done: return Status.ok
      case RequestJob.Outcome.failed: return Status.callback
      default: return Status.closed
      }
    }
  }

  /// Finds the modes of a node; if that throws, the request is the caller's again.
  private func prepare(_ node: RequestJob.Pointer, _ modes: ModeNames?) throws(Failure) {
    do throws(Failure) {
      try resolve(modes, into: &node.pointee.job.modes)
    } catch {
      RequestJob.free(node)
      throw error
    }
  }
}

extension RequestJob {
  /// A request that was taken over, but comes to nothing.
  fileprivate static func refuse(_ node: Pointer, _ status: Int32) -> Int32 {
    let request = node.pointee.request
    free(node)
    request.dispose()
    return status
  }
}

extension WorkItem {
  /// What the caller of a perform waits for.
  package enum Awaited {
    case nothing
    case itsEnd
    case word(HostWord, timeout: Int64)
  }

  /// Whether the list of modes is empty: the request is over then, and was taken over.
  func isForNoMode(_ modes: ModeNames?) throws(Failure) -> Bool {
    guard let modes else { return false }
    if modes.isEmpty {
      dispose()
      return true
    }
    for name in modes where name == nil { throw Failure(Status.argument, "modes", "contains NULL") }
    return false
  }

  /// For what is no job in a loop's queue: a host that fetches its events cannot be told.
  func demandCall() throws(Failure) { try indirect.demandCall() }

  /// On the thread itself, with waiting: here and now (PERF-2).
  func performDirectly() throws(Failure) -> Int32 {
    try demandCall()
    if treadle_system_is_closed() {
      dispose()
      return Status.closed
    }
    var call = DirectRequest(request: self)
    let isOpen = ObjectCall.recorded(
      0, holding: call, { $0.assumingMemoryBound(to: DirectRequest.self).pointee.finish() }
    ) {
      ClientCall.during(&call) { $0?.assumingMemoryBound(to: DirectRequest.self).pointee.call() }
    }
    if call.isForked { return Status.forked }
    call.finish()
    return isOpen ? call.isComplete ? Status.ok : Status.callback : Status.closed
  }
}

/// A request that is performed by its own caller.
private struct DirectRequest {
  let request: WorkItem
  private let tag = treadle_system_tag()
  private(set) var isComplete = true

  init(request: WorkItem) { self.request = request }

  /// The function forked, and this is the child: what it was given is the parent's.
  var isForked: Bool { treadle_system_tag() != tag }

  /// It has returned, or ends its thread.
  func finish() { if !isForked { request.dispose() } }

  mutating func call() { isComplete = request.perform(on: Loop.existing?.handlePointer, mode: nil) }
}

extension Thread {
  /// As a loop performs a request: on the thread's loop, which is made if need be.
  package func perform(_ request: WorkItem, modes: ModeNames?, _ awaited: WorkItem.Awaited) throws(Failure) -> Int32 {
    if try request.isForNoMode(modes) { return Status.ignored }
    if case .itsEnd = awaited, try Thread.current().address == address { return try request.performDirectly() }
    let loop: Loop
    do throws(Failure) {
      loop = try holdLoop()
    } catch {
      if error.status != Status.state { throw error }
      request.dispose()
      return Status.closed
    }
    defer { loop.letGo() }
    return try loop.droppedIfThreadEnds { () throws(Failure) in try loop.perform(request, modes: modes, awaited) }
  }

  /// Performs a function on a new detached thread (PERF-17). Takes the request over on success only; the client's
  /// reference is the caller's.
  package static func performInBackground(_ request: WorkItem) throws(Failure) -> Thread {
    try request.demandCall()
    guard let node = RequestJob.allocate(request) else { throw Failure.noMemory("request") }
    let entry = ThreadEntry(
      code: { memory in
        if let node = memory?.assumingMemoryBound(to: RequestJob.self) {
          if node.pointee.request.perform(on: nil, mode: nil) { node.pointee.request.complete() }
        }
        return nil
      }, info: UnsafeMutableRawPointer(node),
      destroy: { memory in
        if let node = memory?.assumingMemoryBound(to: RequestJob.self), node.pointee.job.sequence != 0 {
          RequestJob.finish(node, RequestJob.Outcome.done)
        }
      })
    do throws(Failure) {
      let thread = try Thread.create(entry, isDetached: true)
      do throws(Failure) {
        // From here on the end of the entry is the end of the request.
        node.pointee.job.sequence = 1
        try thread.start()
        return thread
      } catch {
        node.pointee.job.sequence = 0
        try? Thread.release(thread.handle.bits)
        throw error
      }
    } catch {
      RequestJob.free(node)
      throw error
    }
  }
}
