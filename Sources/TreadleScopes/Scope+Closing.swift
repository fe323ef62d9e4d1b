// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
package import TreadleBase

/// The end of a scope and of all that is in it.
///
/// Any number of threads may take steps of it at once: each ends what it finds, and what has ended stays so. A step that finds
/// nothing left closes the scope. Whoever waits takes another step when something has come to rest (`Rest`).
extension Scope {
  /// Ends everything in the scope, and waits until nothing of it runs. False if something of it is on the calling thread's
  /// stack: then it ends with that.
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
        throw Failure(Status.timeout, "timeout_ns", "passed while something of the scope went on: treadle_scope_copy_holders tells what")
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
        throw Failure(Status.timeout, "timeout_ns", "passed while the scope was needed: treadle_scope_copy_holders tells by whom")
      }
      Rest.wait(seen, until: until)
    }
  }

  /// Returns a reference that the client owns. With the last one the scope is closed, and nobody waits for that.
  package static func releaseForClient(_ handle: UInt) throws(Failure) {
    let scope = Scope(try Slab(.scope).surrender(handle, "scope"))
    defer { scope.letGo() }
    // One with a guardian lives until it is closed.
    if scope.isWithoutClients && scope.phase < Phase.finishing && scope.state.pointee.guardian == nil {
      scope.endLater(until: Clock.now())
    }
  }

  /// What is left ends when it comes to rest, by whoever has it rest.
  private func endLater(until: Int64) {
    beginClosing(deferredUntil: until)
    treadle_system_set_scopes_end { Scope.endDeferred() }
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
      if scope.phase == Phase.deferred { _ = scope.step(isFirst: false, until: scope.state.pointee.deferredUntil) }
      scope.letGo()
      return true
    }
  }

  // MARK: A step

  enum Found {
    case closed
    case isHere
    case isBusy
  }

  /// Ends what can be ended now. Not the first one of a closing only looks: it must not move what is looked at by those who wait.
  func step(isFirst: Bool, until: Int64) -> Found {
    if phase == Phase.closed { return .closed }
    if phase == Phase.finishing { return isFinishingHere ? .isHere : .isBusy }
    if let guardian = state.pointee.guardian {
      // While something of it is on this stack, nothing else of it is told to end; that is, so that its return is seen.
      if isHere {
        endHere()
        return .isHere
      }
      if !guardian(UnsafeMutableRawPointer(state), until) { return .isBusy }
    }
    var isHere = isMakingHere
    var hasForgotten = false
    // What was made last ends first. What goes on still keeps nothing else from its end.
    var serial = UInt64.max
    while let thing = last(before: &serial) {
      switch thing {
      case .cancelled(let work, let taken): Scope.end(work, taken)
      case .registration(let work, let token):
        if ScopeWork.isHere(work) { isHere = true }
        endRegistration(work, token)
      case .running(let isRunningHere): if isRunningHere { isHere = true }
      case .member(let member):
        if !member.isTold { markTold(member) }
        switch isFirst || !member.isTold ? ScopeMember(member.handle).end() : ScopeMember(member.handle).look() {
        case .closed:
          forget(member)
          hasForgotten = true
        case .isHere: isHere = true
        case .isBusy: break
        }
      }
    }
    if phase == Phase.closed { return .closed }
    if phase == Phase.finishing { return isFinishingHere ? .isHere : .isBusy }
    if endClosing() {
      finish()
      return .closed
    }
    // Others who take steps may have passed over what this one has moved.
    if hasForgotten { Rest.announce() }
    return isHere ? .isHere : .isBusy
  }

  /// Whether something of it is on the calling thread's stack.
  package var isHere: Bool {
    if isMakingHere { return true }
    var serial = UInt64.max
    while let member = member(before: serial) {
      if ScopeMember(member.handle).isHere { return true }
      serial = member.serial
    }
    var isWorkHere = false
    forEachWork { work in
      isWorkHere = ScopeWork.isHere(work)
      return !isWorkHere
    }
    return isWorkHere
  }

  /// Ends what is on the calling thread's stack: it comes to rest when that returns.
  private func endHere() {
    var serial = UInt64.max
    while let member = member(before: serial) {
      serial = member.serial
      if member.isTold || !ScopeMember(member.handle).isHere { continue }
      if Handle(bits: UInt(member.handle)).kind == .scope {
        if let inner = try? Scope.hold(UInt(member.handle), "scope") {
          inner.endHere()
          inner.letGo()
        }
      } else {
        markTold(member)
        _ = ScopeMember(member.handle).end()
      }
    }
  }

  /// Of a scope inside: `isHere`.
  static func isHere(_ handle: UInt) -> Bool {
    guard let scope = try? Scope.hold(handle, "scope") else { return false }
    defer { scope.letGo() }
    return scope.isHere
  }

  private struct Destroying {
    let destroy: ScopeState.Destroy
    let info: UnsafeMutableRawPointer?
  }

  /// It is closed: what came with it goes back.
  private func finish() {
    if let destroy = state.pointee.destroy {
      var call = Destroying(destroy: destroy, info: state.pointee.info)
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
  private func endRegistration(_ work: ScopeWork.Pointer, _ token: UInt64) {
    if work.pointee.kind == ScopeWork.Sort.value {
      Thread.endValue(work, token)
    } else {
      try? Notifications.remove(token)
    }
    ScopeWork.release(work)
  }
}
