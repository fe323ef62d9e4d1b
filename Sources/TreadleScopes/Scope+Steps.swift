// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleBase

/// A step of a closing. Scopes lie inside of scopes as deep as clients nest them, so those that a step is inside of are
/// on the heap, and on the stack only where there is no memory.
extension Scope {
  enum Found {
    case closed
    case isHere
    case isBusy
  }

  /// Ends what can be ended now. Not the first one of a closing only looks: it must not move what is looked at by those
  /// who wait.
  func step(isFirst: Bool, until: Int64) -> Found {
    var steps = Steps(here: Step(self, isFirst: isFirst, until: until))
    let found = withUnsafeMutablePointer(to: &steps) { steps in
      ObjectCall.recorded(0, steps, { $0.assumingMemoryBound(to: Steps.self).pointee.abandon() }) {
        steps.pointee.take()
      }
    }
    steps.outer.free()
    return found
  }

  /// A step of a scope, and of one inside of it, and so on: all but the outermost scope are held.
  private struct Steps {
    var outer = Buffer<Step>()
    var here: Step

    init(here: Step) { self.here = here }

    mutating func take() -> Found {
      var found = here.begin()
      while true {
        if found == nil, let inner = here.goOn() {
          let next = Step(inner, isFirst: here.isFirst || here.member?.isTold == false, until: Clock.now())
          if outer.append(here) {
            here = next
            found = here.begin()
          } else {
            here.take(inner, inner.step(isFirst: next.isFirst, until: next.until))
          }
          continue
        }
        let end = found ?? here.finish()
        guard let last = outer[outer.count &- 1] else { return end }
        outer.truncate(outer.count &- 1)
        let inner = here.scope
        here = last
        here.take(inner, end)
        found = nil
      }
    }

    /// The thread has ended inside.
    mutating func abandon() {
      while let last = outer[outer.count &- 1] {
        outer.truncate(outer.count &- 1)
        here.scope.letGo()
        here = last
      }
      outer.free()
    }
  }

  /// How far a step has come in one scope.
  private struct Step: BitwiseCopyable {
    private let address: UnsafeMutablePointer<ScopeState>
    let isFirst: Bool
    let until: Int64
    private var isHere = false
    private var hasForgotten = false
    /// The last one that was looked at.
    private(set) var member: Member?

    init(_ scope: Scope, isFirst: Bool, until: Int64) {
      address = scope.address
      self.isFirst = isFirst
      self.until = until
    }

    var scope: Scope { Scope(UnsafeMutableRawPointer(address)) }

    /// Nil if its members are to be ended now.
    mutating func begin() -> Found? {
      let scope = self.scope
      if let found = scope.foundByPhase { return found }
      if let guardian = scope.state.guardian {
        // While something of it is on this stack, nothing else of it is told to end; that is, so that its return is
        // seen.
        if scope.isHere {
          scope.endHere()
          return .isHere
        }
        if !guardian(UnsafeMutableRawPointer(address), until) { return .isBusy }
      }
      scope.endPosts()
      isHere = scope.isMakingHere || scope.isPostHere
      return nil
    }

    /// Ends the members up to the next one that is a scope, which is begun to be closed, and held. Nil behind the last.
    /// What was made last ends first. What goes on still keeps nothing else from its end.
    mutating func goOn() -> Scope? {
      let scope = self.scope
      var serial = member?.serial ?? UInt64.max
      while let thing = scope.last(before: &serial) {
        switch thing {
        case .cancelled(let work, let taken): Scope.end(work, taken)
        case .registration(let work, let token):
          if ScopeWork.isHere(work) { isHere = true }
          Scope.endRegistration(work, token)
        case .running(let isRunningHere): if isRunningHere { isHere = true }
        case .member(let next):
          member = next
          if !next.isTold { scope.markTold(next) }
          if let inner = ScopeMember(next.handle).beginScope() { return inner }
          take(isFirst || !next.isTold ? ScopeMember(next.handle).end() : ScopeMember(next.handle).look())
        }
      }
      return nil
    }

    private mutating func take(_ found: Found) {
      switch found {
      case .closed:
        if let member { scope.forget(member) }
        hasForgotten = true
      case .isHere: isHere = true
      case .isBusy: break
      }
    }

    /// What has come of the scope that `goOn` has found.
    mutating func take(_ inner: Scope, _ found: Found) {
      if found == .closed { inner.abandonClients() }
      inner.letGo()
      take(found)
    }

    func finish() -> Found {
      let scope = self.scope
      if let found = scope.foundByPhase { return found }
      if scope.endClosing() {
        scope.finish()
        return .closed
      }
      // Others who take steps may have passed over what this one has moved.
      if hasForgotten { Rest.announce() }
      return isHere ? .isHere : .isBusy
    }
  }

  private var foundByPhase: Found? {
    if phase == Phase.closed { return .closed }
    if phase == Phase.finishing { return isFinishingHere ? .isHere : .isBusy }
    return nil
  }

  // MARK: What is inside

  private struct Level: BitwiseCopyable {
    let address: UnsafeMutablePointer<ScopeState>
    var serial = UInt64.max
    var scope: Scope { Scope(UnsafeMutableRawPointer(address)) }
  }

  /// Calls `body` with each member of the scope, and of those inside of it, the last made first, with the scope that it
  /// is in; until it answers false, which is answered then.
  @discardableResult
  func forEachInside(_ body: (Scope, Member) -> Bool) -> Bool {
    var outer = Buffer<Level>()
    defer { outer.free() }
    var here = Level(address: address)
    var goesOn = true
    while true {
      guard goesOn, let member = here.scope.member(before: here.serial) else {
        guard let last = outer[outer.count &- 1] else { return goesOn }
        outer.truncate(outer.count &- 1)
        here.scope.letGo()
        here = last
        continue
      }
      here.serial = member.serial
      goesOn = body(here.scope, member)
      guard goesOn, Handle(bits: UInt(member.handle)).kind == .scope,
        let inner = try? Scope.hold(UInt(member.handle), "scope")
      else { continue }
      if outer.append(here) {
        here = Level(address: inner.address)
      } else {
        goesOn = inner.forEachInside(body)
        inner.letGo()
      }
    }
  }

  /// Whether something of it is on the calling thread's stack.
  package var isHere: Bool {
    if isCallHere { return true }
    return !forEachInside { _, member in
      if ScopeMember(member.handle).isHere { return false }
      guard Handle(bits: UInt(member.handle)).kind == .scope, let inner = try? Scope.hold(UInt(member.handle), "scope")
      else { return true }
      defer { inner.letGo() }
      return !inner.isCallHere
    }
  }

  /// The same without its members.
  private var isCallHere: Bool {
    if isMakingHere || isPostHere { return true }
    var isWorkHere = false
    forEachWork { work in
      isWorkHere = ScopeWork.isHere(work)
      return !isWorkHere
    }
    return isWorkHere
  }

  /// Ends what is on the calling thread's stack: it comes to rest when that returns.
  private func endHere() {
    forEachInside { scope, member in
      if member.isTold || Handle(bits: UInt(member.handle)).kind == .scope || !ScopeMember(member.handle).isHere {
        return true
      }
      scope.markTold(member)
      _ = ScopeMember(member.handle).end()
      return true
    }
  }
}
