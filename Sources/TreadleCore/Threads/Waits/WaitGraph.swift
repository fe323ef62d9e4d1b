// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Which thread waits for which. Whoever would close a cycle finds itself at the end of a walk: it is refused, instead
/// of a hang (PERF-7).
///
/// A thread has several waits at a time if all but the innermost run its loop meanwhile. Which of them must
/// end before it can do something for another:
/// - what it has begun: those that began after that, for they are inside of it;
/// - what is queued, and the call mode admits: the innermost, unless that runs the loop;
/// - what is queued for other modes, and its end: all.
enum WaitGraph {
  private struct State: ~Copyable {
    let gate: Gate
    /// The last number of a wait, or of a walk.
    var serial: UInt64
    /// No thread has waited whose slot is a later one.
    var lastSlot: UInt32
  }
  private static var state: State {
    unsafeAddress { UnsafePointer(address) }
    unsafeMutableAddress { address }
  }
  private static var address: UnsafeMutablePointer<State> {
    treadle_system_wait_guard().assumingMemoryBound(to: State.self)
  }

  /// Begins the wait that `edge` describes, of the calling thread, or refuses it. One that would end by itself counts
  /// like any other, since until then nobody can go on. A poll stands in nobody's way: it gets no token.
  static func begin(
    _ edge: UnsafeMutablePointer<WaitEdge>, of caller: Thread, isPoll: Bool = false
  ) throws(Failure) -> WaitToken {
    edge.pointee.stack = ThreadStack()
    state.gate.lock()
    // The first is 2: see `WaitEdge.begun`.
    state.serial = max(state.serial, 1) &+ 1
    let serial = state.serial
    let isCycle = mayCloseCycle(edge, of: caller) && closesCycle(edge, of: caller, walk: serial)
    if !isCycle && !isPoll {
      state.lastSlot = max(state.lastSlot, caller.state.slot)
      edge.pointee.serial = serial
      treadle_system_thread().pointee.last_wait = serial
      edge.pointee.outer = caller.state.waits
      caller.state.waits = edge
    }
    state.gate.unlock()
    if isCycle { throw Failure(Status.deadlock, "thread", "waits for the calling one") }
    return isPoll ? WaitToken() : WaitToken(thread: caller.state.slot, serial: serial)
  }

  /// A new thread waits for nothing. Another thread's walk may look at its slot before it is known.
  static func clearWaits(of thread: Thread) {
    state.gate.lock()
    thread.state.waits = nil
    state.gate.unlock()
  }

  /// The wait is over: said by the thread itself. Before it can know, whoever ends the wait says so too, by this or by
  /// `WaitEdge.markOver`.
  static func end(_ token: WaitToken) {
    guard let thread = Thread(slot: token.thread) else { return }
    state.gate.lock()
    if let innermost = thread.state.waits, innermost.pointee.serial == token.serial {
      thread.state.waits = innermost.pointee.outer
      state.gate.unlock()
      return
    }
    var inner: UnsafeMutablePointer<WaitEdge>?
    var next = thread.state.waits
    while let edge = next {
      next = edge.pointee.outer
      if edge.pointee.serial == token.serial {
        if let inner { inner.pointee.outer = next } else { thread.state.waits = next }
        break
      }
      inner = edge
    }
    state.gate.unlock()
  }

  /// Runs `body`, in which the calling thread waits for something that `target` does.
  static func waiting(
    for target: Thread, isPoll: Bool, _ body: (WaitToken) throws(Failure) -> Void
  ) throws(Failure) {
    let caller = try Thread.current()
    var edge = WaitEdge(for: target)
    try withUnsafeMutablePointer(to: &edge) { edge throws(Failure) in
      let token = try begin(edge, of: caller, isPoll: isPoll)
      defer { end(token) }
      // The client may end the thread in it.
      try ObjectCall.recorded(
        0, holding: token, { WaitGraph.end($0.assumingMemoryBound(to: WaitToken.self).pointee) }
      ) { () throws(Failure) in try body(token) }
    }
  }

  // MARK: Walking, with the gate held

  /// Not if the other thread, as mostly, is another one and waits for nobody.
  @inline(__always)
  private static func mayCloseCycle(_ new: UnsafeMutablePointer<WaitEdge>, of caller: Thread) -> Bool {
    if new.pointee.rest != nil { return true }
    guard let thread = new.pointee.target else { return false }
    return thread.address == caller.address || thread.state.waits != nil
  }

  /// Whether the wait could end only after itself.
  private static func closesCycle(
    _ new: UnsafeMutablePointer<WaitEdge>, of caller: Thread, walk: UInt64
  ) -> Bool {
    new.pointee.walk = walk
    new.pointee.nextOfWalk = nil
    var next: UnsafeMutablePointer<WaitEdge>? = new
    while let edge = next {
      next = edge.pointee.nextOfWalk
      if let rest = edge.pointee.rest {
        if edge != new && new.pointee.isInside(of: rest) { return true }
        // A host's code sees by its next look that what it waits for has ended with the scope, or is refused then.
        pushWaits(inside: rest, exceptLooks: edge == new && rest.isOfScope, &next, walk)
        continue
      }
      guard let thread = edge.pointee.target else { continue }
      let begun = edge.pointee.lastBefore
      if edge.pointee.isOver { continue }
      let isServed = begun == 0 && edge.pointee.isAdmitted
      if thread.address == caller.address {
        // The new wait is the caller's innermost.
        if isServed && new.pointee.runsLoop { continue }
        return true
      }
      var wait = ongoing(thread.state.waits)
      if isServed && wait?.pointee.runsLoop == true { continue }
      while let other = wait, other.pointee.serial > begun {
        if other.pointee.walk != walk {
          other.pointee.walk = walk
          other.pointee.nextOfWalk = next
          next = other
        }
        if isServed { break }
        wait = ongoing(other.pointee.outer)
      }
    }
    return false
  }

  /// What waits inside of calls of something keeps that from its rest.
  @inline(never)
  private static func pushWaits(
    inside rest: RestTarget, exceptLooks: Bool, _ next: inout UnsafeMutablePointer<WaitEdge>?, _ walk: UInt64
  ) {
    var slot = state.lastSlot
    while slot > 0 {
      var wait = Thread(slot: slot).flatMap { ongoing($0.state.waits) }
      while let other = wait {
        if other.pointee.walk != walk && other.pointee.isInside(of: rest) && !(exceptLooks && other.pointee.isLook) {
          other.pointee.walk = walk
          other.pointee.nextOfWalk = next
          next = other
        }
        wait = ongoing(other.pointee.outer)
      }
      slot &-= 1
    }
  }

  /// The first of a thread's waits, from one on, that is not over.
  private static func ongoing(_ first: UnsafeMutablePointer<WaitEdge>?) -> UnsafeMutablePointer<WaitEdge>? {
    var next = first
    while let edge = next, edge.pointee.isOver { next = edge.pointee.outer }
    return next
  }
}
