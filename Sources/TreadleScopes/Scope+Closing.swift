// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
package import TreadleBase

/// The end of a scope and of all that is in it.
///
/// Any number of threads may take steps of it at once: each ends what it finds, and what has ended stays so. A step
/// that finds nothing left closes the scope. Whoever waits takes another step when something has come to rest (`Rest`).
extension Scope {
  /// Ends everything in the scope, and waits until nothing of it runs. False if something of it is on the calling
  /// thread's stack: then it ends with that.
  package func close(timeout: Int64) throws(Failure) -> Bool {
    let until = Clock.after(timeout, from: Clock.now())
    try awaitBeginning(timeout, until)
    beginClosing()
    var isFirst = true
    while true {
      let seen = Rest.epoch
      defer { isFirst = false }
      switch step(isFirst: isFirst, until: until) {
      case .closed: return true
      case .isHere:
        endLater(until: until)
        return false
      case .isBusy: break
      }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(
          Status.timeout, "timeout_ns", "passed while members of the scope were in use: see treadle_scope_copy_holders")
      }
      try awaitRest(seen, until: until)
    }
  }

  private func awaitBeginning(_ timeout: Int64, _ until: Int64) throws(Failure) {
    while !isClosing {
      let seen = Rest.epoch
      if mayBegin { return }
      if isHere { throw Failure(Status.state, "scope", "is needed by another one, and was to be closed from inside") }
      if timeout > 0 && isNeededHere {
        throw Failure(Status.deadlock, "scope", "is needed by another one, whose end waits for the calling thread")
      }
      if Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while the scope was in use: see treadle_scope_copy_holders")
      }
      Rest.wait(seen, until: until)
    }
  }

  /// Returns a reference that the client owns. With the last one the scope is closed, and nobody waits for that.
  package static func releaseForClient(_ handle: UInt) throws(Failure) {
    let scope = Scope(try Slab(.scope).surrender(handle, "scope"))
    defer { scope.letGo() }
    // One with a guardian lives until it is closed.
    if scope.isWithoutClients && scope.phase < Phase.finishing && scope.state.guardian == nil {
      scope.droppedIfThreadEnds { scope.endLater(until: Clock.now()) }
    }
  }

  /// What is left ends when it comes to rest, by whoever has it rest.
  private func endLater(until: Int64) {
    treadle_system_set_scopes_end { Scope.endDeferred() }
    beginClosing(deferredUntil: until)
    _ = step(isFirst: true, until: until)
  }

  /// Something has come to rest, and perhaps the last of a scope for which nobody waits.
  private static func endDeferred() {
    let thread = treadle_system_thread()
    if thread.pointee.is_ending_scopes || treadle_system_tag() == 0 { return }
    assert(LockOrder.isClear, "no lock is held where something comes to rest")
    thread.pointee.is_ending_scopes = true
    defer { thread.pointee.is_ending_scopes = false }
    // What comes to rest by this is not looked for inside of it.
    var seen: UInt32
    repeat {
      seen = Rest.epoch
      LastError.keepingDetail(stepDeferred)
    } while Rest.epoch != seen
  }

  private static func stepDeferred() {
    Slab(.scope).forEachLive { _, memory in
      let scope = Scope(memory)
      guard scope.holdIfLiving() else { return true }
      if scope.phase == Phase.deferred {
        _ = scope.droppedIfThreadEnds { scope.step(isFirst: false, until: scope.state.deferredUntil) }
      }
      scope.letGo()
      return true
    }
  }

  private struct Destroying {
    let destroy: ScopeState.Destroy
    let info: UnsafeMutableRawPointer?
  }

  /// It is closed: what came with it goes back.
  func finish() {
    if let destroy = state.destroy {
      var call = Destroying(destroy: destroy, info: state.info)
      ClientCall.guarded(&call) { memory in
        guard let call = memory?.assumingMemoryBound(to: Destroying.self).pointee else { return }
        call.destroy(call.info)
      }
    }
    endFinishing()
    Rest.announce()
    letGo()
  }

  /// Ends what stays until it is taken out.
  static func endRegistration(_ work: ScopeWork.Pointer, _ token: UInt64) {
    ScopeWork.releasing(work) {
      if work.pointee.kind == ScopeWork.Sort.value {
        Thread.endValue(work, token)
      } else {
        try? Notifications.remove(token)
      }
    }
  }
}
