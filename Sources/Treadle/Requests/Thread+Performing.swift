// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Performing a function on a thread (PERF-1 to PERF-10, PERF-17).
extension Thread {
  package typealias Modes = UnsafeBufferPointer<UnsafePointer<CChar>?>

  /// What became of a request that was taken over: it was, whatever this returns. An error that is thrown
  /// means that it was not.
  ///
  /// modes: nil for the common ones.
  package func perform(_ request: Request, modes: Modes?, wait: Bool) throws(Failure) -> Int32 {
    if let modes {
      if modes.isEmpty {
        request.dispose()
        return Status.ignored
      }
      for name in modes where name == nil { throw Failure(Status.argument, "modes", "contains NULL") }
    }
    if !wait {
      guard let node = RequestNode.make(request) else { throw Failure.noMemory("request") }
      return try enqueue(node, modes)
    }
    let caller = try Thread.current()
    if caller.state == state { return performDirectly(request) }
    var waiter = Waiter(caller)
    return try withUnsafeMutablePointer(to: &waiter) { waiter throws(Failure) in
      var node = RequestNode(next: nil, waiter: waiter, request: request)
      return try withUnsafeMutablePointer(to: &node) { node throws(Failure) in
        try performAndWait(node, waiter, modes)
      }
    }
  }

  private func performAndWait(
    _ node: UnsafeMutablePointer<RequestNode>, _ waiter: UnsafeMutablePointer<Waiter>, _ modes: Modes?
  ) throws(Failure) -> Int32 {
    let request = node.pointee.request
    var result = Status.ok
    var isTaken = false
    do throws(Failure) {
      try WaitGraph.waiting(for: self, isEndless: true) { () throws(Failure) in
        var loop: Loop?
        result = try enqueue(node, modes, &loop)
        isTaken = true
        guard result == Status.ok, let loop else { return }
        switch Waiter.wait(waiter, for: loop) {
        case Waiter.Outcome.done: break
        case Waiter.Outcome.failed: result = Status.callback
        default: result = Status.closed
        }
      }
    } catch {
      if isTaken || error.status != Status.deadlock { throw error }
      request.dispose()
      return Status.deadlock
    }
    return result
  }

  /// On the thread itself, with waiting: here and now (PERF-2).
  private func performDirectly(_ request: Request) -> Int32 {
    if treadle_system_is_closed() {
      request.dispose()
      return Status.closed
    }
    var isComplete = true
    let isOpen = ClientCall.during { isComplete = request.perform(on: Loop.existing, mode: nil) }
    request.dispose()
    return isOpen ? isComplete ? Status.ok : Status.callback : Status.closed
  }

  /// `Status.ok` when the request waits in the thread's loop. Takes it over unless it throws.
  private func enqueue(_ node: UnsafeMutablePointer<RequestNode>, _ modes: Modes?) throws(Failure) -> Int32 {
    var loop: Loop?
    return try enqueue(node, modes, &loop)
  }

  /// The same, and the loop. It may be gone already, but its memory serves loops for ever.
  private func enqueue(
    _ node: UnsafeMutablePointer<RequestNode>, _ modes: Modes?, _ found: inout Loop?
  ) throws(Failure) -> Int32 {
    let request = node.pointee.request
    let loop: Loop
    do throws(Failure) {
      loop = try holdLoop()
    } catch {
      RequestNode.free(node)
      if error.status != Status.state { throw error }
      request.dispose()
      return Status.closed
    }
    found = loop
    defer { loop.letGo() }
    do throws(Failure) {
      try loop.resolve(modes, into: &node.pointee.modes)
    } catch {
      RequestNode.free(node)
      throw error
    }
    if loop.enqueue(node) { return Status.ok }
    RequestNode.free(node)
    request.dispose()
    return Status.closed
  }

  /// Performs a function on a new detached thread (PERF-17). Takes the request over on success only; the
  /// client's reference is the caller's.
  package static func performInBackground(_ request: Request) throws(Failure) -> Thread {
    guard let node = RequestNode.make(request) else { throw Failure.noMemory("request") }
    let entry = ThreadEntry(
      code: { memory in
        if let node = memory?.assumingMemoryBound(to: RequestNode.self) {
          _ = node.pointee.request.perform(on: nil, mode: nil)
        }
        return nil
      }, info: UnsafeMutableRawPointer(node),
      destroy: { memory in
        if let node = memory?.assumingMemoryBound(to: RequestNode.self), node.pointee.sequence != 0 {
          RequestNode.finish(node, Waiter.Outcome.done)
        }
      })
    do throws(Failure) {
      let thread = try Thread.create(entry)
      do throws(Failure) {
        try thread.detach()
        // From here on the end of the entry is the end of the request.
        node.pointee.sequence = 1
        try thread.start()
        return thread
      } catch {
        node.pointee.sequence = 0
        try? thread.release()
        throw error
      }
    } catch {
      RequestNode.free(node)
      throw error
    }
  }
}
