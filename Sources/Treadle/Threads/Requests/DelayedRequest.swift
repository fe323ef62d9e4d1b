// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A request that a one-shot timer performs later (PERF-12 to PERF-16). Touched by the loop's own thread alone, which makes,
/// fires, cancels and at its end drops it.
///
/// The waiting requests of one target are a ring of the loop's. One leaves it as it begins or is cancelled, before anything of
/// a client's is called. Its memory is the info of its timer: whoever holds the timer keeps it.
package struct DelayedRequest {
  typealias Pointer = UnsafeMutablePointer<DelayedRequest>

  /// First: the rings know the request by it. It also links those that are cancelled together.
  var link: KeyedRings.Link
  var request: Request
  var loop: Loop
  var timer: Item

  /// Takes the request over on success only. modes: nil for the default mode.
  package static func schedule(
    _ request: Request, after delay: Int64, modes: ModeNames?
  ) throws(Failure) -> Int32 {
    if try request.isForNoMode(modes) { return Status.ignored }
    let loop = try Loop.current()
    if !loop.isAlive { return dropAtEnd(request, loop) }
    guard loop.state.pointee.delayed.reserve(),
      let memory = treadle_system_allocate(MemoryLayout<DelayedRequest>.size)
    else { throw Failure.noMemory("request") }
    let node = memory.bindMemory(to: DelayedRequest.self, capacity: 1)
    let timer: Item
    do throws(Failure) {
      timer = try Item.timer(
        code: unsafeBitCast(fire, to: UnsafeMutableRawPointer.self), info: memory,
        context: Context(retain: nil, release: release, describe: nil, order: 0),
        date: min(Clock.after(delay, from: Clock.now()), Clock.forever &- 1), interval: 0, tolerance: 0)
    } catch {
      treadle_system_free(memory)
      throw error
    }
    let link = KeyedRings.Link(key: key(request.target))
    node.initialize(to: DelayedRequest(link: link, request: request, loop: loop, timer: timer))
    do throws(Failure) {
      if let modes {
        for name in modes { if let name { _ = try loop.add(timer, ModeName(name)) } }
      } else {
        _ = try loop.addToDefaultMode(new: timer)
      }
    } catch {
      // The timer's end must not end the request, which stays the caller's.
      node.pointee.request = Request(function: nil, target: nil, argument: nil)
      timer.discard()
      throw error
    }
    loop.state.pointee.delayed.enter(DelayedRequest.link(node))
    // The modes hold the timer from here on.
    timer.giveUp()
    return Status.ok
  }

  /// A release that is called as the thread ends has asked again: that is over, too (PERF-16). Where each release asks again,
  /// the request that would go deeper than this is refused, and stays the caller's.
  private static func dropAtEnd(_ request: Request, _ loop: Loop) -> Int32 {
    if loop.state.pointee.dropDepth >= mostDropsInDrops {
      request.forget()
      return Status.closed
    }
    loop.state.pointee.dropDepth &+= 1
    request.dispose()
    loop.state.pointee.dropDepth &-= 1
    return Status.ignored
  }
  private static let mostDropsInDrops: UInt32 = 16

  // MARK: Cancelling

  /// Cancels the waiting requests of the calling thread for a target, in a few steps each. Those that a release makes are new.
  package static func cancel(target: UnsafeMutableRawPointer?) throws(Failure) -> Int32 {
    let loop = try Loop.current()
    var cancelled = Cancelled()
    while let node = first(loop, target) { cancelled.take(node) }
    return cancelled.release()
  }

  /// Cancels those that are like the one given. The `equal` of a waiting request may do anything: cancel it, make others, and
  /// run the loop.
  package static func cancel(_ like: Request) throws(Failure) -> Int32 {
    let loop = try Loop.current()
    let limit = loop.state.pointee.delayed.count
    var cancelled = Cancelled()
    var asked: UInt64 = 0
    var next = first(loop, like.target)
    while let node = next, node.pointee.link.serial <= limit {
      if node.pointee.link.serial <= asked {
        next = following(node)
        continue
      }
      asked = node.pointee.link.serial
      let timer = node.pointee.timer
      timer.holdAgain()
      let isMeant = node.pointee.request.matches(like)
      if node.pointee.link.isInRing {
        next = following(node)
        if isMeant { cancelled.take(node) }
        timer.drop()
      } else {
        // Its releases may be called by this: the ring is looked at behind it.
        timer.drop()
        next = first(loop, like.target)
      }
    }
    return cancelled.release()
  }

  /// Requests that have been cancelled, each kept by its timer. None of a client's functions is called before all are.
  private struct Cancelled {
    private var first: KeyedRings.Pointer?
    private var last: KeyedRings.Pointer?

    mutating func take(_ node: Pointer) {
      leave(node)
      node.pointee.timer.holdAgain()
      node.pointee.timer.invalidate()
      if let last { last.pointee.next = link(node) } else { first = link(node) }
      last = link(node)
    }

    /// Has their releases called. What is to be answered.
    func release() -> Int32 {
      var next = of(first)
      while let node = next {
        next = of(node.pointee.link.next)
        node.pointee.timer.drop()
      }
      return first == nil ? Status.ignored : Status.ok
    }
  }

  // MARK: The timer's callbacks

  /// Whether an item is none of the client's, but the timer of such a request.
  package static func isTimer(_ item: Item) -> Bool { item.code == unsafeBitCast(fire, to: UnsafeMutableRawPointer.self) }

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

  private static func key(_ target: UnsafeMutableRawPointer?) -> UInt64 { UInt64(UInt(bitPattern: target)) }
  private static func link(_ node: Pointer) -> KeyedRings.Pointer {
    UnsafeMutableRawPointer(node).assumingMemoryBound(to: KeyedRings.Link.self)
  }
  private static func of(_ link: KeyedRings.Pointer?) -> Pointer? {
    UnsafeMutableRawPointer(link)?.assumingMemoryBound(to: DelayedRequest.self)
  }

  /// The first of the requests that wait for a target, and the one behind another.
  private static func first(_ loop: Loop, _ target: UnsafeMutableRawPointer?) -> Pointer? {
    of(loop.state.pointee.delayed.first(key(target)))
  }
  private static func following(_ node: Pointer) -> Pointer? {
    of(node.pointee.loop.state.pointee.delayed.following(link(node)))
  }

  private static func leave(_ node: Pointer) { node.pointee.loop.state.pointee.delayed.leave(link(node)) }
}
