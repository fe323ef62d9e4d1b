// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleCore
package import TreadleBase

/// Retired, drained, and what is known of a closure meanwhile.
extension Closure {
  /// No call begins any more. False when that was so before.
  package func retire() -> Bool {
    // Not asked of the stub, which may serve another closure by now. Relaxed: of several threads one is the first, and
    // what calls and the end go by is the stub's word.
    if body.pointee.isRetired.exchange(1, ordering: .relaxed) != 0 { return false }
    if body.pointee.stub.retire() { end() }
    return true
  }

  /// Whether calls still begin.
  package var isActive: Bool { body.pointee.isRetired.load(ordering: .relaxed) == 0 }

  /// Retires, then waits until `destroy` was called; not on a thread where a call of the closure goes on, which cannot
  /// end before this returns.
  package func close(timeout: Int64) throws(Failure) {
    _ = retire()
    if ClosureFrame.isOnThisThread(body) { return }
    let until = Clock.after(timeout, from: Clock.now())
    body.pointee.isAwaited.store(1, ordering: .sequentiallyConsistent)
    while true {
      let seen = Rest.epoch
      if isOver { return }
      if let carrier = body.pointee.carrier, Carrier.waitingCount(carrier) > 0, carrier.pointee.loop.belongsToCaller {
        throw Failure(Status.deadlock, "closure", "has calls that wait for the calling thread's loop")
      }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while calls of the closure were in flight")
      }
      try restTarget.wait(seen, until: until)
    }
  }

  /// Its calls, and its destroy.
  package var restTarget: RestTarget {
    RestTarget(UnsafeMutableRawPointer(body)) { body, stack in
      guard let memory = UnsafeMutableRawPointer(bitPattern: body) else { return false }
      return ClosureFrame.isOn(ThreadStack.at(stack).closureCall, body)
        || ThreadStack.at(stack).hasCall(of: memory.assumingMemoryBound(to: ClosureBody.self).pointee.handle.bits)
    }
  }

  /// Its scope is closed: it is retired, calls that wait for the loop never begin, and no client owns it any more. True
  /// if the calling thread is in a call of it.
  package static func endInScope(_ handle: Handle) throws(Failure) -> Bool {
    let closure = try Closure.retained(handle.bits)
    defer { closure.drop() }
    closure.awaitEnd()
    closure.abandonClients()
    return closure.droppedIfThreadEnds {
      _ = closure.retire()
      if let carrier = closure.body.pointee.carrier { Carrier.endWaiting(carrier) }
      return ClosureFrame.isOnThisThread(closure.body)
    }
  }

  /// Whether the calling thread is in a call of it.
  package static func isHere(_ handle: Handle) -> Bool {
    guard let closure = Closure(handle) else { return false }
    return ClosureFrame.isOnThisThread(closure.body)
  }

  private var isOver: Bool { body.pointee.isDrained.load(ordering: .sequentiallyConsistent) != 0 }

  /// The last call of a retired closure has ended, or there was none. Called once, by whoever found it.
  static func end(_ body: ClosureBody.Pointer) { Closure(body.pointee.handle)?.end() }

  private func end() {
    let body = self.body
    if let carrier = body.pointee.carrier { Carrier.end(carrier) }
    var handler = body.pointee.handler
    ObjectCall.during(body.pointee.handle.bits, &handler, UnsafeMutableRawPointer(body), Closure.abandonEnd) {
      $0?.assumingMemoryBound(to: ClosureHandler.self).pointee.dispose()
    }
    finishEnd()
  }

  /// `destroy` has ended the thread.
  private static let abandonEnd: ObjectCall.Abandon = { memory in
    Closure(memory.assumingMemoryBound(to: ClosureBody.self).pointee.handle)?.finishEnd()
  }

  private func finishEnd() {
    let body = self.body
    StubPool.give(body.pointee.stub)
    body.pointee.isDrained.store(1, ordering: .sequentiallyConsistent)
    if body.pointee.isAwaited.load(ordering: .sequentiallyConsistent) != 0 { Rest.announce() }
    drop()
  }

  // MARK: What is known

  package struct Info {
    package let state: UInt32
    package let waiting: UInt32
    package let handled, failed, dropped, timedOut, late: UInt64
  }

  package var info: Info {
    let body = self.body
    let state: UInt32 = isOver ? 2 : body.pointee.isRetired.load(ordering: .relaxed)
    return Info(
      state: state, waiting: body.pointee.carrier.map { Carrier.waitingCount($0) } ?? 0,
      handled: body.pointee.handled.load(ordering: .relaxed),
      failed: body.pointee.failed.load(ordering: .relaxed), dropped: body.pointee.dropped.load(ordering: .relaxed),
      timedOut: body.pointee.timedOut.load(ordering: .relaxed), late: body.pointee.late.load(ordering: .relaxed))
  }
}
