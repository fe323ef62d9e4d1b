// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import Synchronization

/// The memory of a scope (`Scope`).
package struct ScopeState: ~Copyable {
  package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void
  /// Asked before each step of a closing, with the scope, no lock held, and until when there is time for it: whether
  /// what is inside may be ended now. With `Scope.mayBegin`, `Scope.neededHere` or `Scope.threadEnds` in place of a
  /// time: what these say. When the answer may be another one, something has come to rest. By several threads at once,
  /// also beside `destroy`.
  package typealias Guardian = @convention(c) (UnsafeMutableRawPointer, Int64) -> Bool

  let reference: Reference
  let touched: Atomic<UInt64>
  /// Constant while the slot is live.
  package fileprivate(set) var slot: UInt32
  package fileprivate(set) var info: UnsafeMutableRawPointer?
  package fileprivate(set) var destroy: Destroy?
  package fileprivate(set) var guardian: Guardian?
  /// The handle of the scope that it was made in; 0 for none.
  package fileprivate(set) var parent: UInt64
  /// In the scope's own memory; nil for none.
  package fileprivate(set) var label: UnsafeMutablePointer<CChar>?
  /// `Scope.Phase`. Written under the lock.
  package let phase: Atomic<UInt32>
  /// Guards what follows. Never held while client code runs.
  let mutex: Mutex
  /// What is in the scope and has a handle, and what was and has ended since, in the order in which it was made. Lock.
  var members: Buffer<Scope.Member>
  /// The serial number of what is made next, with a handle or without. Lock.
  var serial: UInt64
  /// How many places at the end of `members` are promised to what is being made. Lock.
  var promised: Int
  /// What is in the scope and has no handle, the last made first. Lock.
  var works: UnsafeMutablePointer<ScopeTie>?
  /// The entries of threads that something is promised to. Lock.
  var makers: UnsafeMutablePointer<ScopeEntry>?
  /// The posts that loops are calling. Lock.
  var posts: ScopePosts.Pointer?
  /// When the closing began. Written before the phase says so.
  package fileprivate(set) var closedAt: Int64
  /// Until when it may take that was closed from inside of itself. Written before the phase says so.
  package fileprivate(set) var deferredUntil: Int64
  /// No post of the scope is called any more that has not begun. Written under the lock.
  let hasEndedPosts: Atomic<Bool>
  /// The kernel's id of the thread that calls `destroy`. Written before the phase says so.
  var finisher: Int32
}

/// A scope: what is made while a thread has entered it belongs to it, and ends with it. A thin handle.
///
/// It knows its members by their handles, so that none of them knows of the scope, and a member that has ended costs
/// nothing but a stale entry, which is swept when room is needed. What has no handle is on a list (`ScopeWork`), but
/// for plain posts, which queues know (`ScopePosts`).
package struct Scope {
  package let address: UnsafeMutablePointer<ScopeState>
  /// What the handle leads to.
  @inline(__always)
  package var state: ScopeState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  package init(_ memory: UnsafeMutableRawPointer) { address = memory.assumingMemoryBound(to: ScopeState.self) }

  package enum Phase {
    package static let open: UInt32 = 0
    /// No more is taken; what is there ends.
    package static let closing: UInt32 = 1
    /// The same, and whoever ends the last of it closes the scope: who began it could not wait.
    package static let deferred: UInt32 = 2
    /// All of it has ended, and what came with it is given back.
    package static let finishing: UInt32 = 3
    package static let closed: UInt32 = 4
  }

  // MARK: Its life

  /// A new one. From here on `destroy(info)` is the scope's.
  package static func create(
    label: UnsafePointer<CChar>?, destroy: ScopeState.Destroy?, info: UnsafeMutableRawPointer?,
    guardian: ScopeState.Guardian? = nil
  ) throws(Failure) -> Scope {
    try Runtime.start()
    let length = label.map { strlen($0) &+ 1 } ?? 0
    let text = label == nil ? nil : treadle_system_allocate(length)
    if label != nil && text == nil { throw Failure.noMemory("label") }
    guard let (slot, memory) = Slab(.scope).take() else {
      treadle_system_free(text)
      throw Failure.noMemory("scope")
    }
    if let text, let label { memcpy(text, label, length) }
    let scope = Scope(memory)
    Slab(.scope).checkRoom(for: ScopeState.self)
    scope.state.slot = slot
    scope.state.info = info
    scope.state.destroy = destroy
    scope.state.guardian = guardian
    scope.state.parent = UInt64(Scope.entered?.handle.bits ?? 0)
    scope.state.label = text?.assumingMemoryBound(to: CChar.self)
    scope.state.phase.store(Phase.open, ordering: .relaxed)
    scope.state.mutex.forget()
    scope.state.members = Buffer()
    scope.state.promised = 0
    scope.state.serial = 1
    scope.state.works = nil
    scope.state.makers = nil
    scope.state.posts = nil
    scope.state.hasEndedPosts.store(false, ordering: .relaxed)
    scope.state.closedAt = 0
    scope.state.deferredUntil = 0
    scope.state.finisher = 0
    scope.state.reference.begin(forClient: true)
    // Until it is closed.
    scope.holdAgain()
    return scope
  }

  package var handle: Handle {
    Handle(kind: .scope, slot: state.slot, generation: state.reference.generation)
  }
  package var phase: UInt32 { state.phase.load(ordering: .sequentiallyConsistent) }
  package var isClosing: Bool { phase != Phase.open }

  /// The scope that a client's handle means, held until `letGo`.
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> Scope {
    Scope(try Slab(.scope).hold(handle, subject))
  }
  /// Whatever scope lives there now.
  package func holdIfLiving() -> Bool { state.reference.hold(state.reference.generation) }
  package func holdAgain() { state.reference.holdAgain() }

  /// The last reference goes when the scope is closed, since until then it has one of its own (`begin`).
  package func letGo() {
    if !state.reference.drop().isGone { return }
    treadle_system_free(state.label)
    state.members.free()
    Slab(.scope).free(state.slot, UnsafeMutableRawPointer(address))
    // The scope that it is in may wait for it.
    Rest.announce()
  }

  /// Runs `body`, which may call clients: where one of them ends the thread, a reference that the caller holds is
  /// dropped.
  @inline(__always)
  package func droppedIfThreadEnds<Result, Refusal: Error>(_ body: () throws(Refusal) -> Result) throws(Refusal)
    -> Result
  {
    try ObjectCall.recorded(0, UnsafeMutableRawPointer(address), { Scope($0).letGo() }, body)
  }

  package func abandonClients() { state.reference.abandonClients() }
  package var isWithoutClients: Bool { state.reference.seen.clients == 0 }

  func lock() { state.mutex.lock(.scope) }
  func unlock() { state.mutex.unlock(.scope) }

  package static var closedFailure: Failure { Failure(Status.closed, "scope", "is closed") }

  /// Whether it is this scope, or one that was made in it, or in one of those.
  package func contains(_ other: Scope) -> Bool {
    if other.address == address { return true }
    // A parent lives as long as what was made in it has not ended.
    var handle = Handle(bits: UInt(other.state.parent))
    while handle.bits != 0, let memory = Slab(.scope).find(handle) {
      if Scope(memory).address == address { return true }
      handle = Handle(bits: UInt(Scope(memory).state.parent))
    }
    return false
  }

  // MARK: Closing

  /// Whether it is that of a plugin.
  package var isOfPlugin: Bool { state.guardian != nil }

  /// For a guardian, in place of a time.
  package static let mayBegin = Int64.min

  /// For a guardian, in place of a time: whether the calling thread is inside of somebody who needs the scope.
  package static let neededHere = Int64.min &+ 1
  /// For a guardian, in place of a time: the calling thread ends inside of functions that belong to the scope, or in
  /// `destroy`.
  package static let threadEnds = Int64.min &+ 2
  func tellThreadEnds() { _ = state.guardian?(UnsafeMutableRawPointer(address), Scope.threadEnds) }
  package var isNeededHere: Bool { state.guardian?(UnsafeMutableRawPointer(address), Scope.neededHere) ?? false }

  /// False while somebody needs the scope who is not in it.
  package var mayBegin: Bool { state.guardian?(UnsafeMutableRawPointer(address), Scope.mayBegin) ?? true }
  /// No more is taken from here on. `deferredUntil`: nobody waits for the rest, which may take until then.
  package func beginClosing(deferredUntil until: Int64? = nil) {
    lock()
    let now = phase
    if now == Phase.open { state.closedAt = Clock.now() }
    if now == Phase.open || until != nil && now == Phase.closing {
      if let until { state.deferredUntil = until }
      state.phase.store(until != nil ? Phase.deferred : Phase.closing, ordering: .sequentiallyConsistent)
      if until != nil { _ = treadle_system_count_deferred_scopes(1) }
    }
    unlock()
  }

  /// Says that all has ended; true for the one who is to call `destroy`, and `endFinishing` after it.
  package func endClosing() -> Bool {
    // It may end its thread.
    _ = try? Runtime.watchThread()
    lock()
    defer { unlock() }
    if phase >= Phase.finishing || !isEmptyLocked { return false }
    if phase == Phase.deferred { _ = treadle_system_count_deferred_scopes(UInt32.max) }
    state.finisher = Runtime.threadID
    state.phase.store(Phase.finishing, ordering: .releasing)
    treadle_system_thread().pointee.finishing &+= 1
    return true
  }

  package func endFinishing() {
    treadle_system_thread().pointee.finishing &-= 1
    state.phase.store(Phase.closed, ordering: .releasing)
  }

  /// The thread has ended inside of them.
  static func abandonFinishing() {
    Slab(.scope).forEachLive { _, memory in
      let scope = Scope(memory)
      guard scope.holdIfLiving() else { return true }
      if scope.isFinishingHere {
        scope.tellThreadEnds()
        scope.endFinishing()
        // The scope's own reference.
        scope.letGo()
      }
      scope.letGo()
      return true
    }
    Rest.announce()
  }

  /// Whether the calling thread is in `destroy`.
  package var isFinishingHere: Bool { isFinishing(on: Runtime.threadID) }
  /// The same of a thread.
  package func isFinishing(on threadID: Int32) -> Bool { phase == Phase.finishing && state.finisher == threadID }

  private var isEmptyLocked: Bool {
    state.members.isEmpty && state.works == nil && state.promised == 0 && state.posts == nil
  }
}
