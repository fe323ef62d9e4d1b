// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleCalls
import TreadleBase

/// Waiting for what goes on in a scope. One thing at a time: when it has come to rest, the next one is waited for. So a
/// circle of waits is found when those outside of it have ended.
extension Scope {
  /// Waits as `Rest.wait`. Refused where something in the scope waits for the calling thread.
  func awaitRest(_ seen: UInt32, until: Int64) throws(Failure) {
    guard let busy = busy() else { return Rest.wait(seen, until: until) }
    defer { busy.letGo() }
    try busy.target.wait(seen, until: until, ofScope: true)
  }

  /// Something that goes on, held.
  private struct Busy {
    let target: RestTarget
    var work: ScopeWork.Pointer?
    var scope: Scope?
    var closure: Closure?

    func letGo() {
      if let work { ScopeWork.release(work) }
      scope?.letGo()
      closure?.drop()
    }
  }

  /// Nil if nothing is known.
  private func busy() -> Busy? {
    if let busy = busyCall() { return busy }
    var found: Busy?
    forEachInside { _, member in
      found = Scope.busy(Handle(bits: UInt(member.handle)))
      return found == nil
    }
    return found
  }

  /// Those who make something in it, call its posts, run a function of a plugin, or call `destroy`, and works.
  private func busyCall() -> Busy? {
    var isEntered = isCallingPosts
    forEachMaker { _ in isEntered = true }
    if isEntered {
      holdAgain()
      let target = RestTarget(UnsafeMutableRawPointer(address)) { memory, stack in
        guard let scope = UnsafeMutableRawPointer(bitPattern: memory).map({ Scope($0) }) else { return false }
        let stack = ThreadStack.at(stack)
        return scope.isMaking(stack.scope) || stack.hasPost(of: scope)
          || stack.finishing != 0 && scope.isFinishing(on: stack.threadID)
      }
      return Busy(target: target, scope: self)
    }
    guard let work = busyWork() else { return nil }
    let target = RestTarget(UnsafeMutableRawPointer(work)) { work, stack in
      UnsafeMutableRawPointer(bitPattern: work).map {
        ScopeWork.isOn(ThreadStack.at(stack).scopeCall, $0.assumingMemoryBound(to: ScopeWork.self))
      } ?? false
    }
    return Busy(target: target, work: work)
  }

  /// A member; of a scope not its own members.
  private static func busy(_ handle: Handle) -> Busy? {
    if !isLiving(UInt64(handle.bits)) { return nil }
    switch handle.kind {
    case .scope:
      guard let inner = try? hold(handle.bits, "scope") else { return nil }
      defer { inner.letGo() }
      return inner.busyCall()
    case .closure: return (try? Closure.retained(handle.bits)).map { Busy(target: $0.restTarget, closure: $0) }
    case .host: return (try? Host(handle.bits, "host")).map { Busy(target: $0.restTarget) }
    case .thread:
      return Busy(target: RestTarget(word: handle.bits) { thread, stack in ThreadStack.at(stack).thread == thread })
    default: return Busy(target: RestTarget(handle: handle.bits))
    }
  }

  private func busyWork() -> ScopeWork.Pointer? {
    var found: ScopeWork.Pointer?
    forEachWork { work in
      found = work
      ScopeWork.retain(work)
      return false
    }
    return found
  }
}
