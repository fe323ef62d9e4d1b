// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// The place of a work on the list of a scope. Lies in the work, or is owned by it.
package struct ScopeTie {
  let work: ScopeWork.Pointer
  /// Held by the work.
  let scope: Scope
  // What follows is guarded by the scope's lock.
  private var previous: UnsafeMutablePointer<ScopeTie>?
  private(set) var next: UnsafeMutablePointer<ScopeTie>?
  private var isListed = false
  /// Its place in the order of all that was made in the scope.
  private(set) var serial: UInt64 = 0
  /// Constant once the carrier is queued.
  var place: ScopeWork.Place?

  init(_ work: ScopeWork.Pointer, _ scope: Scope) {
    self.work = work
    self.scope = scope
  }

  /// False if the scope takes nothing more.
  static func list(_ tie: UnsafeMutablePointer<ScopeTie>) -> Bool {
    let scope = tie.pointee.scope
    scope.lock()
    defer { scope.unlock() }
    if scope.isClosing { return false }
    tie.pointee.next = scope.state.works
    tie.pointee.serial = scope.nextSerial()
    tie.pointee.isListed = true
    tie.pointee.next?.pointee.previous = tie
    scope.state.works = tie
    return true
  }

  /// The scope's lock is held.
  static func unlist(_ tie: UnsafeMutablePointer<ScopeTie>) {
    if !tie.pointee.isListed { return }
    tie.pointee.isListed = false
    let (previous, next) = (tie.pointee.previous, tie.pointee.next)
    if let previous { previous.pointee.next = next } else { tie.pointee.scope.state.works = next }
    next?.pointee.previous = previous
  }
}

extension ScopeWork {
  /// Runs `body`, which may call clients, and drops a reference: also where one of them ends the thread.
  package static func releasing(_ work: Pointer, _ body: () -> Void) {
    ObjectCall.recorded(0, work, { ScopeWork.release($0.assumingMemoryBound(to: ScopeWork.self)) }, body)
    release(work)
  }
}

extension Scope {
  /// Calls `body` with each of the works, under the lock, until it answers false.
  package func forEachWork(_ body: (ScopeWork.Pointer) -> Bool) {
    lock()
    defer { unlock() }
    var next = state.works
    while let tie = next {
      next = tie.pointee.next
      if !body(tie.pointee.work) { return }
    }
  }

  /// Something in the scope, as its closing meets it.
  package enum Thing {
    case member(Member)
    /// A work whose turn will not come any more: it was cancelled just now; and its place if it was taken out of that.
    /// With a reference.
    case cancelled(ScopeWork.Pointer, ScopeWork.Place?)
    /// A registration, and the token that ends it, which nobody else gets. With a reference.
    case registration(ScopeWork.Pointer, UInt64)
    /// A work that goes on, on the calling thread's stack or elsewhere.
    case running(isHere: Bool)
  }

  /// What was made last before a serial number, which becomes its own.
  package func last(before serial: inout UInt64) -> Thing? {
    lock()
    defer { unlock() }
    let member = memberBeforeLocked(serial)
    var next = state.works
    while let tie = next, tie.pointee.serial >= serial { next = tie.pointee.next }
    if let tie = next, tie.pointee.serial > (member?.serial ?? 0) {
      serial = tie.pointee.serial
      return takeLocked(tie)
    }
    serial = member?.serial ?? 0
    return member.map { .member($0) }
  }

  private func takeLocked(_ tie: UnsafeMutablePointer<ScopeTie>) -> Thing {
    let work = tie.pointee.work
    // The load is first, since every step of a closing meets the works that run, and should not take their word from
    // their threads. The exchange acquires, since a comparison may have used the content (`ScopeWork.putBack`), which
    // is released next.
    let isTaken =
      work.pointee.phase.load(ordering: .sequentiallyConsistent) == ScopeWork.Phase.waiting
      && work.pointee.phase.compareExchange(
        expected: ScopeWork.Phase.waiting, desired: ScopeWork.Phase.cancelled, successOrdering: .acquiring,
        failureOrdering: .relaxed
      ).exchanged
    if isTaken {
      ScopeWork.retain(work)
      let place = tie.pointee.place
      let isOut = place.map { $0.takeOut($0.queue, $0.carrier) } ?? false
      return .cancelled(work, isOut ? place : nil)
    }
    let token = ScopeWork.takeToken(work)
    if token == 0 { return .running(isHere: ScopeWork.isHere(work)) }
    ScopeWork.retain(work)
    return .registration(work, token)
  }

  /// Gives back what a cancelled work was made of.
  package static func end(_ work: ScopeWork.Pointer, _ taken: ScopeWork.Place?) {
    let cancelled = Cancelled(work: work, taken: taken)
    ObjectCall.recorded(
      0, holding: cancelled,
      { memory in
        memory.assumingMemoryBound(to: Cancelled.self).pointee.leave()
        // Others take the next step.
        Rest.announce()
      }
    ) { ScopeWork.giveBack(work) }
    // The scope that ends it looks for itself.
    if cancelled.leave() { Rest.announce() }
  }

  /// A cancelled work whose content has been given back, or whose thread has ended while it was.
  private struct Cancelled {
    let work: ScopeWork.Pointer
    let taken: ScopeWork.Place?

    /// True if another one of its scopes may wait for this.
    @discardableResult
    func leave() -> Bool {
      let isAwaited = ScopeWork.unlist(work)
      if let taken { taken.endTaken(taken.carrier, taken.queue) }
      let hasOther = work.pointee.second != nil
      ScopeWork.release(work)
      return isAwaited && hasOther
    }
  }
}
