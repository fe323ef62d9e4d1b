// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A request that a one-shot timer performs later (PERF-12 to PERF-16). Touched by the loop's own thread alone, which
/// makes, fires, cancels and at its end drops it.
///
/// The waiting requests of one target are a ring of the loop's, and so are those that one description may mean
/// (`WorkItem.likeness`). One leaves both as it begins or is cancelled, before anything of a client's is called. Its
/// memory is the info of its timer: whoever holds the timer keeps it.
package struct DelayedRequest {
  typealias Pointer = UnsafeMutablePointer<DelayedRequest>

  /// First: the rings know the request by them. The one of the target also links those that are cancelled together.
  private var links: (KeyedRings.Link, KeyedRings.Link)
  var request: WorkItem
  var loop: Loop
  var timer: Item

  /// Takes the request over on success only. modes: nil for the default mode.
  package static func schedule(
    _ request: WorkItem, after delay: Int64, modes: ModeNames?
  ) throws(Failure) -> Int32 {
    if try request.isForNoMode(modes) { return Status.ignored }
    try request.demandCall()
    let loop = try Loop.current()
    if !loop.isAlive { return dropAtEnd(request, loop) }
    return try request.performingLater { carrier throws(Failure) in
      try schedule(carrier, as: request, after: delay, modes: modes, on: loop)
    }
  }

  /// The carrier of a request, or that itself.
  @_optimize(size)
  private static func schedule(
    _ carrier: WorkItem, as request: WorkItem, after delay: Int64, modes: ModeNames?, on loop: Loop
  ) throws(Failure) -> Int32 {
    guard loop.state.delayed.reserve(), loop.state.delayedAlike.reserve(),
      let memory = treadle_system_allocate(MemoryLayout<DelayedRequest>.size)
    else { throw Failure.noMemory("request") }
    let node = memory.bindMemory(to: DelayedRequest.self, capacity: 1)
    let timer: Item
    var context = Context(retain: nil, release: release, describe: nil, order: 0)
    context.label = request.name.label
    do throws(Failure) {
      timer = try Item.timer(
        code: unsafeBitCast(fire, to: UnsafeMutableRawPointer.self), info: memory,
        context: context,
        date: min(Clock.after(delay, from: Loop.delayStart()), Clock.forever &- 1), interval: 0, tolerance: 0)
    } catch {
      treadle_system_free(memory)
      throw error
    }
    let links = (
      KeyedRings.Link(key: key(request.target)), KeyedRings.Link(key: request.likeness(isAsked: request.isComparable))
    )
    node.initialize(to: DelayedRequest(links: links, request: carrier, loop: loop, timer: timer))
    do throws(Failure) {
      if let modes {
        for name in modes {
          if let name { _ = try ModeName.amongOthers { () throws(Failure) in try loop.add(timer, ModeName(name)) } }
        }
      } else {
        _ = try loop.addToDefaultMode(new: timer)
      }
    } catch {
      // The timer's end must not end the request, which stays the caller's.
      node.pointee.request = WorkItem(request: nil, target: nil, argument: nil)
      timer.discard()
      throw error
    }
    loop.state.delayed.enter(link(node, .target))
    loop.state.delayedAlike.enter(link(node, .likeness))
    if let work = carrier.work {
      loop.placeWork(work, timer)
      // The scope was closed before the place was known.
      if ScopeWork.isCancelled(work) { timer.invalidate() }
    }
    // The modes hold the timer from here on.
    timer.giveUp()
    return Status.ok
  }

  /// A release that is called as the thread ends has asked again: that is over, too (PERF-16). Where each release asks
  /// again, the request that would go deeper than this is refused, and stays the caller's.
  private static func dropAtEnd(_ request: WorkItem, _ loop: Loop) -> Int32 {
    if loop.state.dropDepth >= mostDropsInDrops {
      request.forget()
      return Status.closed
    }
    loop.state.dropDepth &+= 1
    request.dispose()
    loop.state.dropDepth &-= 1
    return Status.ignored
  }
  private static let mostDropsInDrops: UInt32 = 16

  // MARK: Cancelling

  /// Cancels the waiting requests of the calling thread for a target, in a few steps each. Those that a release makes
  /// are new.
  @_optimize(size)
  /// The calling thread's loop; without one there is nothing to cancel.
  private static func existingLoop() throws(Failure) -> Loop? {
    try Runtime.start()
    return Loop.existing
  }

  package static func cancel(target: UnsafeMutableRawPointer?) throws(Failure) -> Int32 {
    guard let loop = try existingLoop() else { return Status.ignored }
    var cancelled = Cancelled()
    while let node = of(loop.state.delayed.first(key(target)), .target) { cancelled.take(node) }
    return cancelled.release()
  }

  /// Cancels those that are like the one given, in a few steps for each of them, and for each of the target's that has
  /// an `equal`, which may do anything: cancel it, make others, and run the loop.
  @_optimize(size)
  package static func cancel(_ like: WorkItem) throws(Failure) -> Int32 {
    guard let loop = try existingLoop() else { return Status.ignored }
    let limit = loop.state.delayedAlike.count
    var cancelled = Cancelled()
    var next = first(loop, like.likeness(isAsked: false))
    while let node = next {
      next = following(node)
      if !node.pointee.request.isComparable && node.pointee.request.matches(like) { cancelled.take(node) }
    }
    // Each `equal` may end the thread: what is cancelled by then has its releases called all the same.
    withUnsafeMutablePointer(to: &cancelled) { cancelled in
      ObjectCall.recorded(0, cancelled, { _ = $0.assumingMemoryBound(to: Cancelled.self).pointee.release() }) {
        take(cancelled, thatEqual: like, upTo: limit, loop)
      }
    }
    return cancelled.release()
  }

  private static func take(
    _ cancelled: UnsafeMutablePointer<Cancelled>, thatEqual like: WorkItem, upTo limit: UInt64, _ loop: Loop
  ) {
    let comparable = like.likeness(isAsked: true)
    var asked: UInt64 = 0
    var next = first(loop, comparable)
    while let node = next, serial(node) <= limit {
      if serial(node) <= asked {
        next = following(node)
        continue
      }
      asked = serial(node)
      let timer = node.pointee.timer
      timer.holdAgain()
      let isMeant = timer.droppedIfThreadEnds { node.pointee.request.matches(like) }
      if node.pointee.links.1.isInRing {
        next = following(node)
        if isMeant { cancelled.pointee.take(node) }
        timer.drop()
      } else {
        // Its releases may be called by this: the ring is looked at behind it.
        timer.drop()
        next = first(loop, comparable)
      }
    }
  }

  /// Requests that have been cancelled, each kept by its timer. None of a client's functions is called before all are.
  private struct Cancelled {
    private var first: KeyedRings.Pointer?
    private var last: KeyedRings.Pointer?

    mutating func take(_ node: Pointer) {
      leave(node)
      node.pointee.timer.holdAgain()
      node.pointee.timer.invalidate()
      if let last { last.pointee.next = link(node, .target) } else { first = link(node, .target) }
      last = link(node, .target)
    }

    /// Has their releases called: all of them, though one may end the thread. What is to be answered.
    mutating func release() -> Int32 {
      if first == nil { return Status.ignored }
      withUnsafeMutablePointer(to: &self) { rest in
        ObjectCall.recorded(0, rest, { _ = $0.assumingMemoryBound(to: Cancelled.self).pointee.release() }) {
          while let node = of(rest.pointee.first, .target) {
            rest.pointee.first = node.pointee.links.0.next
            node.pointee.timer.drop()
          }
        }
      }
      return Status.ok
    }
  }

  // MARK: The timer's callbacks

  /// Whether an item is none of the client's, but the timer of such a request.
  package static func isTimer(_ item: Item) -> Bool {
    item.code == unsafeBitCast(fire, to: UnsafeMutableRawPointer.self)
  }

  private static let fire: Loop.PlainItem = { _, info in
    guard let node = info?.assumingMemoryBound(to: DelayedRequest.self) else { return }
    leave(node)
    let (request, loop) = (node.pointee.request, node.pointee.loop)
    // The timer is held during its callback, and so is the node.
    if request.perform(on: loop.handlePointer, mode: loop.currentMode?.name) {
      node.pointee.request.complete()
    } else {
      loop.failRun()
    }
  }

  /// Once, when the timer has fired, or never will.
  private static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
    guard let info else { return }
    let node = info.assumingMemoryBound(to: DelayedRequest.self)
    leave(node)
    let request = node.pointee.request
    treadle_system_free(info)
    request.dispose()
  }

  // MARK: Rings

  /// The place of a ring's link among a request's.
  private enum Ring: Int {
    case target
    case likeness
  }

  private static func key(_ target: UnsafeMutableRawPointer?) -> UInt64 { UInt64(UInt(bitPattern: target)) }
  private static func link(_ node: Pointer, _ ring: Ring) -> KeyedRings.Pointer {
    UnsafeMutableRawPointer(node).assumingMemoryBound(to: KeyedRings.Link.self) + ring.rawValue
  }
  private static func of(_ link: KeyedRings.Pointer?, _ ring: Ring) -> Pointer? {
    link.map { UnsafeMutableRawPointer($0 - ring.rawValue).assumingMemoryBound(to: DelayedRequest.self) }
  }

  /// The first of the requests of a likeness, the one behind another, and how many there were before it.
  private static func first(_ loop: Loop, _ likeness: UInt64) -> Pointer? {
    of(loop.state.delayedAlike.first(likeness), .likeness)
  }
  private static func following(_ node: Pointer) -> Pointer? {
    of(node.pointee.loop.state.delayedAlike.following(link(node, .likeness)), .likeness)
  }
  private static func serial(_ node: Pointer) -> UInt64 { node.pointee.links.1.serial }

  private static func leave(_ node: Pointer) {
    node.pointee.loop.state.delayed.leave(link(node, .target))
    node.pointee.loop.state.delayedAlike.leave(link(node, .likeness))
  }
}
