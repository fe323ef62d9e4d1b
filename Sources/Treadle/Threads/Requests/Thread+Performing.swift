// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Performing a function on a thread (PERF-1 to PERF-10, PERF-17).
extension Thread {
  /// What became of a request that was taken over: it was, whatever this returns. An error that is thrown means that it was
  /// not.
  ///
  /// modes: nil for the common ones.
  package func perform(_ request: Request, modes: ModeNames?, wait: Bool) throws(Failure) -> Int32 {
    if let modes {
      if modes.isEmpty {
        request.dispose()
        return Status.ignored
      }
      for name in modes where name == nil { throw Failure(Status.argument, "modes", "contains NULL") }
    }
    if wait {
      let caller = try Thread.current()
      return caller.state == state ? performDirectly(request) : try performAndWait(request, modes, as: caller)
    }
    guard let node = RequestJob.allocate(request) else { throw Failure.noMemory("request") }
    return try prepare(node, modes) { loop in
      loop.enqueue(RequestJob.job(node)) ? Status.ok : Thread.refuse(node, Status.closed)
    }
  }

  private func performAndWait(_ request: Request, _ modes: ModeNames?, as caller: Thread) throws(Failure) -> Int32 {
    var waiter = Waiter()
    return try withUnsafeMutablePointer(to: &waiter) { waiter throws(Failure) in
      var node = RequestJob(request, waiter: waiter)
      return try withUnsafeMutablePointer(to: &node) { node throws(Failure) in
        try prepare(node, modes) { loop in Thread.performAndWait(node, waiter, on: loop, as: caller) }
      }
    }
  }

  private static func performAndWait(
    _ node: RequestJob.Pointer, _ waiter: UnsafeMutablePointer<Waiter>, on loop: Loop, as caller: Thread
  ) -> Int32 {
    let job = RequestJob.job(node)
    waiter.pointee.edge = WaitEdge(for: loop, isAdmitted: loop.admitsInCallMode(job), runsLoop: false)
    return withUnsafeMutablePointer(to: &waiter.pointee.edge) { edge in
      let token: WaitToken
      do throws(Failure) {
        token = try WaitGraph.begin(edge, of: caller)
      } catch { return refuse(node, error.status) }
      defer { WaitGraph.end(token) }
      if !loop.enqueue(job) { return refuse(node, Status.closed) }
      waiter.pointee.completion.wait(loop.answers, until: Clock.forever)
      switch waiter.pointee.completion.outcome {
      case RequestJob.Outcome.done: return Status.ok
      case RequestJob.Outcome.failed: return Status.callback
      default: return Status.closed
      }
    }
  }

  /// A request that was taken over, but comes to nothing.
  private static func refuse(_ node: RequestJob.Pointer, _ status: Int32) -> Int32 {
    let request = node.pointee.request
    RequestJob.free(node)
    request.dispose()
    return status
  }

  /// On the thread itself, with waiting: here and now (PERF-2).
  private func performDirectly(_ request: Request) -> Int32 {
    if treadle_system_is_closed() {
      request.dispose()
      return Status.closed
    }
    var isComplete = true
    let tag = treadle_system_tag()
    let isOpen = ClientCall.during { isComplete = request.perform(on: Loop.existing?.handlePointer, mode: nil) }
    // In the child of a fork that the function made, what it was given is the parent's.
    if treadle_system_tag() != tag { return Status.forked }
    request.dispose()
    return isOpen ? isComplete ? Status.ok : Status.callback : Status.closed
  }

  /// Runs `body`, which takes the node over, with the thread's loop. It is taken over unless this throws.
  private func prepare(
    _ node: RequestJob.Pointer, _ modes: ModeNames?, _ body: (Loop) -> Int32
  ) throws(Failure) -> Int32 {
    let loop: Loop
    do throws(Failure) {
      loop = try holdLoop()
    } catch {
      if error.status == Status.state { return Thread.refuse(node, Status.closed) }
      RequestJob.free(node)
      throw error
    }
    defer { loop.letGo() }
    do throws(Failure) {
      try loop.resolve(modes, into: &node.pointee.job.modes)
    } catch {
      RequestJob.free(node)
      throw error
    }
    return body(loop)
  }

  /// Performs a function on a new detached thread (PERF-17). Takes the request over on success only; the client's reference is
  /// the caller's.
  package static func performInBackground(_ request: Request) throws(Failure) -> Thread {
    guard let node = RequestJob.allocate(request) else { throw Failure.noMemory("request") }
    let entry = ThreadEntry(
      code: { memory in
        if let node = memory?.assumingMemoryBound(to: RequestJob.self) {
          _ = node.pointee.request.perform(on: nil, mode: nil)
        }
        return nil
      }, info: UnsafeMutableRawPointer(node),
      destroy: { memory in
        if let node = memory?.assumingMemoryBound(to: RequestJob.self), node.pointee.job.sequence != 0 {
          RequestJob.finish(node, RequestJob.Outcome.done)
        }
      })
    do throws(Failure) {
      let thread = try Thread.create(entry)
      do throws(Failure) {
        try thread.detach()
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
