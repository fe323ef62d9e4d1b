// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// Something in a scope that has no handle: what is queued once (a post, a request, a release that was put off), or
/// what stays until it is taken out: a registration, a value in a thread's dictionary. Around it lies its content,
/// which the client gave; what is queued in its place, its carrier, knows the address.
///
/// The content is given back once, by whoever ends it: its carrier, or the scope's closing, which leaves an empty
/// carrier where it is. It is on the scope's list until the carrier is gone, or the closing has ended it. One that code
/// of a plugin makes may be in two scopes (`Scope.owners`): the first that is closed ends it.
package struct ScopeWork: ~Copyable {
  package typealias Pointer = UnsafeMutablePointer<ScopeWork>
  /// Gives back what the client gave. Gets the content.
  package typealias Dispose = @convention(c) (UnsafeMutableRawPointer) -> Void
  /// Takes a carrier out of its queue; false if it is not there. The scope's lock is held.
  package typealias TakeOut = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Bool
  /// Ends a carrier that was taken out of the queue.
  package typealias EndTaken = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void

  /// What a report calls it: values of the C header's, beside those of handles' kinds.
  package enum Sort {
    package static let post: UInt32 = 32
    package static let request: UInt32 = 33
    package static let notification: UInt32 = 34
    package static let release: UInt32 = 35
    /// A thread that makes something, runs a function of a plugin, or ends the scope.
    package static let call: UInt32 = 37
    package static let value: UInt32 = 38
  }

  /// The carrier and the closing agree by exchanges of this one word whose turn it is; what they then use was given to
  /// them under the lock of a queue or of the scope. So these exchanges order nothing, but for `putBack` and the
  /// closing's own look: of a work that is put back and a scope whose closing has begun, one of the two threads sees
  /// what the other wrote.
  enum Phase {
    static let waiting: UInt32 = 0
    static let running: UInt32 = 1
    static let over: UInt32 = 2
    /// Over, since the scope was closed before its turn came.
    static let cancelled: UInt32 = 3
  }

  /// Where a carrier is which must not stay behind, and the queue that it is in: somebody waits for it, or it would
  /// wait long.
  package struct Place {
    let carrier: UnsafeMutableRawPointer
    let queue: UnsafeMutableRawPointer
    let takeOut: TakeOut
    let endTaken: EndTaken

    package init(
      _ carrier: UnsafeMutableRawPointer, in queue: UnsafeMutableRawPointer, takeOut: @escaping TakeOut,
      endTaken: @escaping EndTaken
    ) {
      self.carrier = carrier
      self.queue = queue
      self.takeOut = takeOut
      self.endTaken = endTaken
    }
  }

  package let kind: UInt32
  let phase: Atomic<UInt32>
  /// The carrier's, and those of whoever ends it.
  let references: Atomic<UInt32>
  /// Whose stack it is on; 0 for nobody's.
  let threadID: Atomic<Int32>
  /// What ends a registration, once it is there; of a value, the handle of its thread.
  let token: Atomic<UInt64>
  let dispose: Dispose
  var tie: ScopeTie
  /// That to a second scope; nil for none. Constant.
  let second: UnsafeMutablePointer<ScopeTie>?

  /// The content lies behind, aligned to 16.
  package static func content<Content>(_ work: Pointer, as type: Content.Type) -> UnsafeMutablePointer<Content> {
    (UnsafeMutableRawPointer(work) + offset).assumingMemoryBound(to: type)
  }
  package static func of(_ content: UnsafeMutableRawPointer) -> Pointer {
    (content - offset).assumingMemoryBound(to: ScopeWork.self)
  }
  private static var offset: Int { (MemoryLayout<ScopeWork>.size &+ 15) & ~15 }

  /// A new one in the scope that the calling thread has entered; nil without one. The carrier has the reference.
  /// `dispose` gets the content, whose memory stays. One that is not queued stays until it is ended by its token.
  @inline(__always)
  package static func make<Content>(
    _ kind: UInt32, _ content: Content, isQueued: Bool = true, _ dispose: @escaping Dispose
  ) throws(Failure) -> Pointer? {
    treadle_system_thread().pointee.scope == nil ? nil : try makeSlowly(kind, content, isQueued, dispose)
  }

  @inline(never)
  private static func makeSlowly<Content>(
    _ kind: UInt32, _ content: Content, _ isQueued: Bool, _ dispose: @escaping Dispose
  ) throws(Failure) -> Pointer? {
    guard let owners = try Scope.demandOwners() else { return nil }
    guard let memory = treadle_system_allocate(offset &+ MemoryLayout<Content>.size) else {
      throw Failure.noMemory("scope")
    }
    (memory + offset).bindMemory(to: Content.self, capacity: 1).initialize(to: content)
    return try begin(memory, kind, owners.first, owners.second, isQueued, dispose)
  }

  /// From here on its scopes know of it, unless one of them is closed.
  @inline(never)
  private static func begin(
    _ memory: UnsafeMutableRawPointer, _ kind: UInt32, _ scope: Scope, _ other: Scope?, _ isQueued: Bool,
    _ dispose: @escaping Dispose
  ) throws(Failure) -> Pointer {
    let work = memory.bindMemory(to: ScopeWork.self, capacity: 1)
    let second =
      other == nil
      ? nil : treadle_system_allocate(MemoryLayout<ScopeTie>.size)?.bindMemory(to: ScopeTie.self, capacity: 1)
    if let other { second?.initialize(to: ScopeTie(work, other)) }
    if other != nil && second == nil {
      treadle_system_free(memory)
      throw Failure.noMemory("scope")
    }
    work.initialize(
      to: ScopeWork(
        kind: kind, phase: Atomic(isQueued ? Phase.waiting : Phase.running), references: Atomic(1), threadID: Atomic(0),
        token: Atomic(0), dispose: dispose, tie: ScopeTie(work, scope), second: second))
    scope.holdAgain()
    other?.holdAgain()
    // A closing of the one may end it before the other knows of it.
    retain(work)
    if !ScopeTie.list(tie(work)) {
      release(work)
      release(work)
      throw Scope.closedFailure
    }
    if let second, !ScopeTie.list(second) {
      // Unless the first one has ended it, and given the content back.
      if takeBack(work) {
        release(work)
        throw Scope.closedFailure
      }
      return work
    }
    release(work)
    return work
  }

  private static func tie(_ work: Pointer) -> UnsafeMutablePointer<ScopeTie> {
    withUnsafeMutablePointer(to: &work.pointee.tie) { $0 }
  }

  private static func forEachTie(_ work: Pointer, _ body: (UnsafeMutablePointer<ScopeTie>) -> Void) {
    body(tie(work))
    if let second = work.pointee.second { body(second) }
  }

  /// Whether one of its scopes ends.
  private static func isAwaited(_ work: Pointer) -> Bool {
    work.pointee.tie.scope.isClosing || work.pointee.second?.pointee.scope.isClosing == true
  }

  // MARK: The carrier's

  /// The content's turn has come; false if the scope has ended it.
  package static func begin(_ work: Pointer) -> Bool {
    work.pointee.phase.compareExchange(expected: Phase.waiting, desired: Phase.running, ordering: .relaxed).exchanged
  }

  /// A call of the client's for a work, which is on a thread's stack.
  private struct Call {
    let work: Pointer
    let outer: UnsafeMutableRawPointer?
  }

  /// Runs `body`, in which the client is called.
  package static func during<Result>(_ work: Pointer, _ body: () -> Result) -> Result {
    let thread = treadle_system_thread()
    var call = Call(work: work, outer: thread.pointee.scope_call)
    work.pointee.threadID.store(Runtime.threadID, ordering: .relaxed)
    return withUnsafeMutablePointer(to: &call) { record in
      thread.pointee.scope_call = UnsafeMutableRawPointer(record)
      let result = body()
      thread.pointee.scope_call = record.pointee.outer
      return result
    }
  }

  /// The turn of a content has come that a host fetches, on no thread's stack; false if the scope has ended it. Nothing
  /// is carried by no work.
  @inline(__always)
  package static func beginHandedOut(_ work: Pointer?) -> Bool {
    guard let work else { return true }
    return beginFetched(work)
  }

  @inline(never)
  private static func beginFetched(_ work: Pointer) -> Bool {
    if !begin(work) { return false }
    work.pointee.threadID.store(Runtime.threadID, ordering: .relaxed)
    return true
  }

  /// It was not its turn after all: nothing has come of it.
  package static func putBack(_ work: Pointer) {
    work.pointee.phase.store(Phase.waiting, ordering: .sequentiallyConsistent)
    if isAwaited(work) { Rest.announce() }
  }

  /// The carrier is gone: the content is given back unless that was done.
  package static func end(_ work: Pointer) {
    if finish(work) {
      // The client may end the thread in it.
      ObjectCall.recorded(0, work, { ScopeWork.leave($0.assumingMemoryBound(to: ScopeWork.self)) }) { giveBack(work) }
    }
    leave(work)
  }

  /// `end`, for those who know a carrier's function and pointer alone.
  package static let endCarrier: @convention(c) (UnsafeMutableRawPointer?) -> Void = { memory in
    if let work = memory?.assumingMemoryBound(to: ScopeWork.self) { end(work) }
  }

  /// It was refused, and the content is the caller's again: true. False if the scope has ended it meanwhile: then it
  /// was taken.
  package static func takeBack(_ work: Pointer) -> Bool {
    let isMine = finish(work)
    leave(work)
    return isMine
  }

  /// False if the scope's closing has done that.
  private static func finish(_ work: Pointer) -> Bool {
    if isCancelled(work) { return false }
    // From waiting, which the closing may exchange as well, or from running, which nobody else does.
    let (isFinished, before) = work.pointee.phase.compareExchange(
      expected: Phase.waiting, desired: Phase.over, ordering: .relaxed)
    if isFinished { return true }
    if before == Phase.running { work.pointee.phase.store(Phase.over, ordering: .relaxed) }
    return before == Phase.running
  }

  package static func isCancelled(_ work: Pointer) -> Bool {
    work.pointee.phase.load(ordering: .relaxed) == Phase.cancelled
  }

  static func giveBack(_ work: Pointer) {
    during(work) { work.pointee.dispose(UnsafeMutableRawPointer(content(work, as: UInt8.self))) }
  }

  // MARK: Registrations

  /// It is registered under a token. True if its scope is closing, which may have looked for the token before. It may
  /// have ended already: the caller has a reference.
  package static func register(_ work: Pointer, _ token: UInt64) -> Bool {
    work.pointee.token.store(token, ordering: .sequentiallyConsistent)
    return isAwaited(work)
  }

  /// The token of a registration, once; 0 if it has none yet, was asked for it before, or is none.
  package static func takeToken(_ work: Pointer) -> UInt64 {
    // `register` stores the token, then loads the scope's phase; a closing stores the phase, then loads the token here:
    // one of the two sees what the other stored. The exchange orders nothing: it decides which of two closings has the
    // token, and what that leads to is under a lock.
    if work.pointee.token.load(ordering: .sequentiallyConsistent) == 0 { return 0 }
    return work.pointee.token.exchange(0, ordering: .relaxed)
  }

  // MARK: Waiting for it

  package static func retain(_ work: Pointer) { work.pointee.references.add(1, ordering: .relaxed) }

  /// The carrier is to be queued there: as long as the work is not over, it is.
  package static func setPlace(_ work: Pointer, _ place: Place) {
    forEachTie(work) { tie in
      tie.pointee.scope.lock()
      tie.pointee.place = place
      tie.pointee.scope.unlock()
    }
  }

  /// As `end`, where the content is given back by itself.
  private static func leave(_ work: Pointer) {
    let isAwaited = unlist(work)
    release(work)
    if isAwaited { Rest.announce() }
  }

  /// True if one of its scopes ends, which may wait for this.
  static func unlist(_ work: Pointer) -> Bool {
    var isAwaited = false
    forEachTie(work) { tie in
      tie.pointee.scope.lock()
      ScopeTie.unlist(tie)
      if tie.pointee.scope.isClosing { isAwaited = true }
      tie.pointee.scope.unlock()
    }
    return isAwaited
  }

  package static func release(_ work: Pointer) {
    if work.pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    let (scope, second) = (work.pointee.tie.scope, work.pointee.second)
    treadle_system_free(UnsafeMutableRawPointer(work))
    scope.letGo()
    if let second {
      let other = second.pointee.scope
      treadle_system_free(second)
      other.letGo()
    }
  }

  // MARK: The closing's

  /// Whose stack it is, or was last, on; 0 for nobody's.
  package static func thread(of work: Pointer) -> Int32 { work.pointee.threadID.load(ordering: .relaxed) }

  /// Whether it is on the calling thread's stack.
  package static func isHere(_ work: Pointer) -> Bool { isOn(treadle_system_thread().pointee.scope_call, work) }

  /// The same of a thread whose innermost call this is.
  package static func isOn(_ innermost: UnsafeMutableRawPointer?, _ work: Pointer) -> Bool {
    var next = innermost?.assumingMemoryBound(to: Call.self)
    while let call = next {
      if call.pointee.work == work { return true }
      next = call.pointee.outer?.assumingMemoryBound(to: Call.self)
    }
    return false
  }
}

extension IndirectCallback {
  /// What a carrier carries; nil for any other callback.
  package var work: ScopeWork.Pointer? {
    guard let drop, unsafeBitCast(drop, to: UInt.self) == unsafeBitCast(ScopeWork.endCarrier, to: UInt.self) else {
      return nil
    }
    return object?.assumingMemoryBound(to: ScopeWork.self)
  }

  /// A carrier was refused: true if what it carries is its maker's again, as is what is no carrier. False if the scope
  /// has ended it: it was taken over.
  package func takeBack() -> Bool { work.map { ScopeWork.takeBack($0) } ?? true }
}
