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
    if wait {
      let caller = try Thread.current()
      if caller.state == state { return performDirectly(request) }
      return try performAndWait(request, modes, as: caller)
    }
    guard let node = RequestNode.make(request) else { throw Failure.noMemory("request") }
    return try prepare(node, modes) { loop in loop.enqueue(node) ? Status.ok : Thread.refuse(node, Status.closed) }
  }

  private func performAndWait(_ request: Request, _ modes: Modes?, as caller: Thread) throws(Failure) -> Int32 {
    var waiter = Waiter(WaitEdge())
    return try withUnsafeMutablePointer(to: &waiter) { waiter throws(Failure) in
      var node = RequestNode(next: nil, waiter: waiter, request: request)
      return try withUnsafeMutablePointer(to: &node) { node throws(Failure) in
        try prepare(node, modes) { loop in Thread.performAndWait(node, waiter, on: loop, as: caller) }
      }
    }
  }

  @inline(__always)
  private static func performAndWait(
    _ node: UnsafeMutablePointer<RequestNode>, _ waiter: UnsafeMutablePointer<Waiter>, on loop: Loop, as caller: Thread
  ) -> Int32 {
    waiter.pointee.edge = WaitEdge(for: loop, isAdmitted: loop.admitsInCallMode(node), runsLoop: false)
    return withUnsafeMutablePointer(to: &waiter.pointee.edge) { edge in
      let token: WaitToken
      do throws(Failure) {
        token = try WaitGraph.begin(edge, of: caller, isEndless: true)
      } catch { return Thread.refuse(node, error.status) }
      defer { WaitGraph.end(token) }
      if !loop.enqueue(node) { return Thread.refuse(node, Status.closed) }
      switch Waiter.wait(waiter, for: loop) {
      case Waiter.Outcome.done: return Status.ok
      case Waiter.Outcome.failed: return Status.callback
      default: return Status.closed
      }
    }
  }

  /// The same for one that has a function of its own and gives nothing back, in the common modes. The thread itself is
  /// not held, but its loop. Nil: the general way has to do it, or knows what is wrong.
  package static func performPlain(
    _ handle: UInt, _ function: @escaping Request.Function, target: UnsafeMutableRawPointer?, argument: UnsafeMutableRawPointer?
  ) -> Int32? {
    let handle = Handle(bits: handle)
    guard let own = treadle_system_thread().pointee.thread, let memory = Slab(.thread).find(handle), memory != own,
      !treadle_system_is_closed(), let loop = Thread(memory).holdLoopIfThere(generation: handle.generation)
    else { return nil }
    defer { loop.letGo() }
    // Aligned to a cache line by hand: more than 16 would come from the heap.
    return withUnsafeTemporaryAllocation(byteCount: waiterOffset &+ MemoryLayout<Waiter>.size &+ 48, alignment: 16) { room in
      guard let start = room.baseAddress else { return nil }
      let base = start + Int(bitPattern: (0 &- UInt(bitPattern: start)) & 63)
      let waiter = (base + waiterOffset).bindMemory(to: Waiter.self, capacity: 1)
      waiter.initialize(to: Waiter(WaitEdge()))
      let node = base.bindMemory(to: RequestNode.self, capacity: 1)
      node.initialize(
        to: RequestNode(
          next: nil, waiter: waiter, isPlain: true, request: Request(function: function, target: target, argument: argument)))
      return performAndWait(node, waiter, on: loop, as: Thread(own))
    }
  }
  private static var waiterOffset: Int { (MemoryLayout<RequestNode>.size &+ 63) & ~63 }

  /// A request that was taken over, but comes to nothing.
  private static func refuse(_ node: UnsafeMutablePointer<RequestNode>, _ status: Int32) -> Int32 {
    let request = node.pointee.request
    RequestNode.free(node)
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
    let isOpen = ClientCall.during { isComplete = request.perform(on: Loop.existing, mode: nil) }
    request.dispose()
    return isOpen ? isComplete ? Status.ok : Status.callback : Status.closed
  }

  /// Runs `body`, which takes the node over, with the thread's loop. It is taken over unless this throws.
  private func prepare(
    _ node: UnsafeMutablePointer<RequestNode>, _ modes: Modes?, _ body: (Loop) -> Int32
  ) throws(Failure) -> Int32 {
    let loop: Loop
    do throws(Failure) {
      loop = try holdLoop()
    } catch {
      if error.status == Status.state { return Thread.refuse(node, Status.closed) }
      RequestNode.free(node)
      throw error
    }
    defer { loop.letGo() }
    do throws(Failure) {
      try loop.resolve(modes, into: &node.pointee.modes)
    } catch {
      RequestNode.free(node)
      throw error
    }
    return body(loop)
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
