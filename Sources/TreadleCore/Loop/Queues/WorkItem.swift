// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A function of a client's that is called once, or never: a post (§9 of the rules) or a request (§17); its name says
/// which. A value: its queue keeps it in memory of its own (`BlockNode`, `RequestJob`, `DelayedRequest`), and calls
/// `dispose` at its end. In place of one that belongs to a scope a carrier is queued, a work item too: so the scope can
/// end what the carrier has, and leave the carrier where it is (`ScopeWork`).
package struct WorkItem {
  /// Of a request.
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
  /// Of a post, which has no target; and what gives back a target or an argument.
  package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  package typealias Equal = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
  typealias Retire = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void

  var code: UnsafeMutableRawPointer?
  package var target: UnsafeMutableRawPointer?
  package var argument: UnsafeMutableRawPointer?
  /// In place of the code: a routine, or a host's dispatch.
  package var indirect: IndirectCallback
  package var releaseTarget: Release?
  package var releaseArgument: Release?
  package var equal: Equal?
  package var token: UInt64 = 0
  var host: UnsafeMutableRawPointer?
  var retire: Retire?
  /// In place of `retire` where the host has completed it: it has used its token up.
  var retireUsed: Retire?
  /// What descriptions call it by.
  let name: CallName

  private init(
    _ name: CallName, _ code: UnsafeMutableRawPointer?, _ argument: UnsafeMutableRawPointer?,
    _ indirect: IndirectCallback? = nil
  ) {
    self.name = name
    self.code = code
    self.argument = argument
    self.indirect = indirect ?? IndirectCallback(object: nil, invoke: nil, drop: nil)
  }

  /// A post. label: one that is kept for ever (`Labels`), or nil.
  package init(
    post code: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?, destroy: Release? = nil,
    indirect: IndirectCallback? = nil, label: UnsafePointer<CChar>? = nil
  ) {
    self.init(CallName(postCode: code, label: label), code, info, indirect)
    releaseArgument = destroy
  }

  /// A request. label: as of a post.
  package init(
    request function: Function?, target: UnsafeMutableRawPointer?, argument: UnsafeMutableRawPointer?,
    label: UnsafePointer<CChar>? = nil
  ) {
    let code = unsafeBitCast(function, to: UnsafeMutableRawPointer?.self)
    self.init(CallName(requestCode: UInt(bitPattern: code), label: label), code, argument)
    self.target = target
  }

  // MARK: The call

  /// False when a host's callback did not complete. By the return of a host's callback the item may be gone.
  func perform(on loop: OpaquePointer?, mode: UnsafePointer<CChar>?) -> Bool {
    if let code {
      if name.isRequest {
        unsafeBitCast(code, to: Function.self)(target, argument)
      } else {
        unsafeBitCast(code, to: Release.self)(argument)
      }
      return true
    }
    guard let invoke = indirect.invoke else { return true }
    if let direct = indirect.direct {
      direct.pointee.perform(subject: target, value: 0)
      return true
    }
    var event = event(on: loop, mode: mode)
    return invoke(indirect.object, &event)
  }

  func event(on loop: OpaquePointer?, mode: UnsafePointer<CChar>?) -> Event {
    let kind = name.isRequest ? Event.Kind.request : Event.Kind.block
    var event = Event(kind, token: token, loop: loop, subject: UInt(bitPattern: target), mode: mode)
    if name.isRequest { event.argument = argument }
    return event
  }

  /// Its host has completed it, or what it carries. A carrier that its scope has cancelled is left alone: the scope
  /// releases what it carried.
  @inline(__always)
  mutating func complete() {
    if let retireUsed {
      retire = retireUsed
    } else if let work, !ScopeWork.isCancelled(work) {
      let content = WorkItem.content(work)
      if let used = content.pointee.retireUsed { content.pointee.retire = used }
    }
  }

  /// It is the caller's again, whose releases are not called.
  package func forget() {
    if let work {
      let content = WorkItem.content(work).pointee
      if ScopeWork.takeBack(work) { content.forget() }
      return
    }
    retireUsed?(host, token)
    indirect.drop?(indirect.object)
  }

  /// It was performed, or never will be: what it holds goes back, once.
  package func dispose() {
    retire?(host, token)
    if releaseTarget == nil && releaseArgument == nil {
      indirect.drop?(indirect.object)
    } else {
      giveBack()
    }
  }

  /// Each release may end the thread: the rest goes back all the same.
  @inline(never)
  private func giveBack() {
    var rest = self
    withUnsafeMutablePointer(to: &rest) { rest in
      ObjectCall.recorded(0, rest, { $0.assumingMemoryBound(to: WorkItem.self).pointee.giveBack() }) {
        let (ofTarget, ofArgument) = (rest.pointee.releaseTarget, rest.pointee.releaseArgument)
        rest.pointee.releaseTarget = nil
        ClientCall.giveBack(ofTarget, rest.pointee.target)
        rest.pointee.releaseArgument = nil
        ClientCall.giveBack(ofArgument, rest.pointee.argument)
        rest.pointee.indirect.dropOnce()
      }
    }
  }

  // MARK: In scopes

  /// The carrier of an item, which it takes over unless this throws; the item itself outside of scopes.
  @inline(__always)
  private func scoped() throws(Failure) -> WorkItem {
    treadle_system_thread().pointee.scope == nil ? self : try makeCarrier()
  }

  @inline(never)
  private func makeCarrier() throws(Failure) -> WorkItem {
    let sort = name.isRequest ? ScopeWork.Sort.request : ScopeWork.Sort.post
    let work = try ScopeWork.make(sort, self) { $0.assumingMemoryBound(to: WorkItem.self).pointee.dispose() }
    guard let work else { return self }
    let object = UnsafeMutableRawPointer(work)
    return WorkItem(
      name, nil, nil, IndirectCallback(object: object, invoke: WorkItem.performContent, drop: ScopeWork.endCarrier))
  }

  private static let performContent: IndirectCallback.Invoke = { object, event in
    guard let work = object?.assumingMemoryBound(to: ScopeWork.self), ScopeWork.begin(work),
      let given = event?.assumingMemoryBound(to: Event.self).pointee
    else { return true }
    return ScopeWork.during(work) { content(work).pointee.perform(on: given.loop, mode: given.mode) }
  }

  /// Has `body` queue the item, or its carrier, which `body` takes over unless it throws.
  @inline(__always)
  func performing(_ body: (WorkItem) throws(Failure) -> Int32) throws(Failure) -> Int32 {
    let item = try scoped()
    do throws(Failure) {
      return try body(item)
    } catch {
      if item.indirect.takeBack() { throw error }
      return Status.ok
    }
  }

  /// The same where it is not in a hurry.
  @inline(never)
  package func performingLater(_ body: (WorkItem) throws(Failure) -> Int32) throws(Failure) -> Int32 {
    try performing(body)
  }

  /// Of a carrier; nil for any other item.
  @inline(__always)
  var work: ScopeWork.Pointer? { indirect.work }

  private static func content(_ work: ScopeWork.Pointer) -> UnsafeMutablePointer<WorkItem> {
    ScopeWork.content(work, as: WorkItem.self)
  }

  /// What a carrier carries, or the item itself.
  @inline(__always)
  var carried: WorkItem { work.map { WorkItem.content($0).pointee } ?? self }

  // MARK: For hosts that fetch it

  /// Whether it is called by this very host.
  @inline(__always)
  func isOf(_ host: UnsafeMutableRawPointer) -> Bool { carried.indirect.isOf(host) }

  /// Whether its host is not called, but fetches it. Of a carrier that is empty nobody is told.
  @inline(__always)
  var isFetched: Bool { carried.indirect.isFetched && work.map { ScopeWork.isCancelled($0) } != true }

  /// Whether it is this very host's, and has begun.
  @inline(__always)
  func begin(for host: UnsafeMutableRawPointer) -> Bool { isOf(host) && ScopeWork.beginHandedOut(work) }

  /// It has not begun after all.
  func putBack() {
    if let work { ScopeWork.putBack(work) }
  }

  // MARK: Descriptions of requests

  /// Whether its `equal` decides on what is meant by a description.
  var isComparable: Bool { carried.equal != nil }

  /// Whether this waiting request is meant by another one that is only a description (PERF-15).
  func matches(_ like: WorkItem) -> Bool {
    guard let work else { return isLike(like) }
    // The scope does not end it while its `equal` is asked.
    guard ScopeWork.begin(work) else { return false }
    defer { ScopeWork.putBack(work) }
    return ObjectCall.recorded(0, work, { ScopeWork.putBack($0.assumingMemoryBound(to: ScopeWork.self)) }) {
      WorkItem.content(work).pointee.isLike(like)
    }
  }

  private func isLike(_ other: WorkItem) -> Bool {
    if target != other.target || code != other.code { return false }
    if indirect.object != other.indirect.object || token != other.token { return false }
    if argument == other.argument { return true }
    guard let equal else { return false }
    return ClientCall.status(equal, argument, other.argument) != 0
  }

  /// A number that all requests share which one description may mean: those that identity decides on, or those of the
  /// target whose `equal` is to be asked. Others may share it, too.
  func likeness(isAsked: Bool) -> UInt64 {
    var hash = UInt64(UInt(bitPattern: target))
    if isAsked { return hash }
    func add(_ word: UInt64) { hash = (hash ^ word) &* 0xBF58_476D_1CE4_E5B9 ^ hash >> 29 }
    add(UInt64(UInt(bitPattern: code)))
    add(UInt64(UInt(bitPattern: argument)))
    add(UInt64(UInt(bitPattern: indirect.object)))
    add(token)
    return hash
  }
}
