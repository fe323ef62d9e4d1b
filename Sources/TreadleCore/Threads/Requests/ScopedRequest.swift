// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A request that belongs to the scope which its thread has entered: a carrier takes its place (`ScopeWork`).
extension Request {
  /// The carrier of a request, which it takes over unless this throws; the request itself outside of scopes.
  @inline(__always)
  func scoped() throws(Failure) -> Request {
    treadle_system_thread().pointee.scope == nil ? self : try carried()
  }

  @inline(never)
  private func carried() throws(Failure) -> Request {
    let dispose: ScopeWork.Dispose = { content in content.assumingMemoryBound(to: Request.self).pointee.dispose() }
    guard let work = try ScopeWork.make(ScopeWork.Sort.request, self, dispose) else { return self }
    var carrier = Request(function: nil, target: target, argument: argument)
    carrier.indirect = IndirectCallback(
      object: UnsafeMutableRawPointer(work), invoke: Request.performContent, drop: ScopeWork.endCarrier)
    carrier.label = label
    return carrier
  }

  /// Has `body` queue the request, or its carrier, which `body` takes over unless it throws.
  @inline(__always)
  func performing(_ body: (Request) throws(Failure) -> Int32) throws(Failure) -> Int32 {
    let request = try scoped()
    do throws(Failure) {
      return try body(request)
    } catch {
      if request.indirect.takeBack() { throw error }
      return Status.ok
    }
  }

  /// The same where it is not in a hurry.
  @inline(never)
  package func performingLater(_ body: (Request) throws(Failure) -> Int32) throws(Failure) -> Int32 { try performing(body) }

  /// Of a carrier; nil for any other request.
  var work: ScopeWork.Pointer? { indirect.work }

  /// Whether its `equal` decides on what is meant by a description.
  var isComparable: Bool { (work.map { ScopeWork.content($0, as: Request.self).pointee } ?? self).equal != nil }

  private static let performContent: IndirectCallback.Invoke = { object, event in
    guard let work = object?.assumingMemoryBound(to: ScopeWork.self), let event, ScopeWork.begin(work) else { return true }
    let request = ScopeWork.content(work, as: Request.self)
    let given = event.assumingMemoryBound(to: Event.self).pointee
    let tag = treadle_system_tag()
    let isComplete = ScopeWork.during(work) { request.pointee.perform(on: given.loop, mode: given.mode) }
    if isComplete && treadle_system_tag() == tag { request.pointee.complete() }
    return isComplete
  }
}

extension Loop {
  /// Somebody will wait for a carrier in this loop's queue.
  func placeWork(_ work: ScopeWork.Pointer, _ node: RequestJob.Pointer) {
    let place = ScopeWork.Place(
      UnsafeMutableRawPointer(node), in: UnsafeMutableRawPointer(address),
      takeOut: { loop, node in Loop(loop).takeOut(RequestJob.job(node.assumingMemoryBound(to: RequestJob.self))) },
      endTaken: { node, _ in RequestJob.finish(node.assumingMemoryBound(to: RequestJob.self), RequestJob.Outcome.dropped) })
    ScopeWork.setPlace(work, place)
  }

  /// A carrier will be performed by a timer of this loop, which otherwise would wait for its date. The timer's request is its
  /// thread's alone, which ends it there.
  func placeWork(_ work: ScopeWork.Pointer, _ timer: Item) {
    guard let carrier = UnsafeMutableRawPointer(bitPattern: timer.handle.bits),
      let queue = UnsafeMutableRawPointer(bitPattern: handle.bits)
    else { return }
    let place = ScopeWork.Place(
      carrier, in: queue, takeOut: { _, _ in true },
      endTaken: { timer, loop in
        if Loop.existing?.handle.bits == UInt(bitPattern: loop) { return Loop.endTimer(timer) }
        _ = try? Scope.outside { () throws(Failure) in
          try Loop.post(UInt(bitPattern: loop), unsafeBitCast(Loop.endTimer, to: UnsafeMutableRawPointer.self), timer)
        }
      })
    ScopeWork.setPlace(work, place)
  }

  private static let endTimer: BlockNode.Function = { timer in
    try? Item.invalidate(.timer, UInt(bitPattern: timer), "timer")
  }
}
