// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
import TreadleBase
import TreadleCalls

/// Something in a scope that has a handle.
struct ScopeMember {
  private let handle: Handle

  init(_ bits: UInt64) { handle = Handle(bits: UInt(bits)) }

  /// Ends it as far as that can be done without waiting, and takes all references of clients from it: its handle is
  /// stale when nothing of ours refers to it any more. Closed: that is so.
  func end() -> Scope.Found {
    guard let kind = handle.kind else { return .closed }
    if Slab(kind).find(handle) == nil { return whatIsEnding(kind) }
    var isHere = false
    switch kind {
    case .source, .timer, .observer, .descriptor, .port: isHere = endItem(kind)
    case .invocation: isHere = (try? Invocation.endInScope(handle)) ?? false
    case .closure: isHere = (try? Closure.endInScope(handle)) ?? false
    case .thread: isHere = (try? Thread.endInScope(handle)) ?? false
    case .routine: return endRoutine()
    case .host: return endHost()
    // What may not begin yet (`beginScope`).
    case .scope: return .isBusy
    default: return .closed
    }
    // Nobody may refer to it any more by now, whether it was found here or not.
    if Slab(kind).find(handle) == nil, case .closed = whatIsEnding(kind) { return .closed }
    return isHere || ObjectCall.isHere(handle.bits) ? .isHere : .isBusy
  }

  /// Of one that nobody refers to: what came with it may be on its way back to the client.
  private func whatIsEnding(_ kind: Kind) -> Scope.Found {
    if Slab(kind).isOverOrAwaited(handle) { return .closed }
    return ObjectCall.isHere(handle.bits) ? .isHere : .isBusy
  }

  /// What has come of one that was told to end before.
  func look() -> Scope.Found {
    guard let kind = handle.kind else { return .closed }
    if Slab(kind).find(handle) == nil { return whatIsEnding(kind) }
    switch kind {
    case .host: return endHost()
    case .thread: return Thread.isAtRest(handle) ? end() : .isBusy
    case .routine: return endRoutine()
    default: return .isBusy
    }
  }

  /// Whether something of it is on the calling thread's stack. A look that holds nothing: who waits until nothing is
  /// held must not be woken by it. What is on the stack lives; of anything else only the place is compared.
  var isHere: Bool {
    if ObjectCall.isHere(handle.bits) { return true }
    guard let kind = handle.kind, Slab(kind).find(handle) != nil else { return false }
    switch kind {
    case .source, .timer, .observer, .descriptor, .port: return Item(kind, slot: handle.slot)?.isInCallbackHere ?? false
    case .invocation: return Invocation.isHere(handle)
    case .closure: return Closure.isHere(handle)
    case .thread: return Thread.existing.map { $0.handle.bits == handle.bits } ?? false
    case .host: return (try? Host(handle.bits, "host"))?.isOnThisThread ?? false
    default: return false
    }
  }

  private func endItem(_ kind: Kind) -> Bool {
    guard let item = try? Item.hold(kind, handle.bits, "item") else { return false }
    return item.endInScope()
  }

  /// A routine may stay, in what refers to it: it calls nothing any more.
  private func endRoutine() -> Scope.Found {
    let isHere = ObjectCall.isHere(handle.bits)
    guard let isEnded = try? Routine.endInScope(handle) else { return whatIsEnding(.routine) }
    return isHere ? .isHere : isEnded ? .closed : .isBusy
  }

  /// A host is quiet first. Its memory stays a host's (`Host`).
  private func endHost() -> Scope.Found {
    guard let host = try? Host(handle.bits, "host") else { return .closed }
    do throws(Failure) {
      try host.quiesce(timeout: 0)
      if host.isOnThisThread { return .isHere }
      Host.endInScope(handle)
      return .closed
    } catch { return host.isOnThisThread ? .isHere : .isBusy }
  }

  /// A scope that is to be ended step by step, held: its closing has begun. Nil for anything else, and for one that may
  /// not begin now. One that a thread has entered still is closed as well: that thread leaves a closed scope.
  func beginScope() -> Scope? {
    guard handle.kind == .scope, let scope = try? Scope.hold(handle.bits, "scope") else { return nil }
    if scope.isClosing { return scope }
    if scope.mayBegin {
      scope.beginClosing()
      return scope
    }
    scope.letGo()
    return nil
  }
}
