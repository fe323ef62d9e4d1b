// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A request that a one-shot timer performs later (PERF-12 to PERF-16). Touched by the loop's own thread,
/// which makes, fires, cancels and at its end drops it.
package struct DelayedRequest {
  var request: Request
  var loop: Loop
  var timer: Item
  var next: UnsafeMutablePointer<DelayedRequest>?
  var previous: UnsafeMutablePointer<DelayedRequest>?
  /// In the loop's list: neither begun nor cancelled.
  var isListed: Bool

  /// Takes the request over on success only. modes: nil for the default mode.
  package static func schedule(
    _ request: Request, after delay: Int64, modes: ModeNames?
  ) throws(Failure) -> Int32 {
    if let modes {
      if modes.isEmpty {
        request.dispose()
        return Status.ignored
      }
      for name in modes where name == nil { throw Failure(Status.argument, "modes", "contains NULL") }
    }
    let loop = try Loop.current()
    guard let memory = treadle_system_allocate(MemoryLayout<DelayedRequest>.size) else {
      throw Failure.noMemory("request")
    }
    let node = memory.bindMemory(to: DelayedRequest.self, capacity: 1)
    let timer: Item
    do throws(Failure) {
      timer = try Item.timer(
        code: unsafeBitCast(fire, to: UnsafeMutableRawPointer.self), info: memory,
        options: ItemOptions(
          retain: nil, release: release, describe: nil, order: 0,
          main: IndirectCallback(object: nil, invoke: nil, drop: nil)),
        date: Clock.after(delay, from: Clock.now()), interval: 0, tolerance: 0)
    } catch {
      treadle_system_free(memory)
      throw error
    }
    node.initialize(
      to: DelayedRequest(request: request, loop: loop, timer: timer, next: nil, previous: nil, isListed: false))
    do throws(Failure) {
      if let modes {
        for name in modes { if let name { _ = try loop.add(timer, ModeName(name)) } }
      } else {
        _ = try loop.addToDefaultMode(timer)
      }
    } catch {
      // The timer's end must not end the request, which stays the caller's.
      node.pointee.request = Request(function: nil, target: nil, argument: nil)
      timer.discard()
      throw error
    }
    list(node)
    // The modes hold the timer from here on.
    timer.giveUp()
    return Status.ok
  }

  /// Cancels the waiting requests of the calling thread that are like the one given.
  package static func cancel(_ like: Request, targetAlone: Bool) throws(Failure) -> Int32 {
    let loop = try Loop.current()
    var result = Status.ignored
    while let node = find(loop, like, targetAlone: targetAlone) {
      result = Status.ok
      unlist(node)
      // The modes hold the timer, and let go of it; the timer holds the node.
      let timer = node.pointee.timer
      timer.holdAgain()
      timer.invalidate()
      timer.drop()
    }
    return result
  }

  /// Anew after each one, since its releases may have changed the list.
  private static func find(
    _ loop: Loop, _ like: Request, targetAlone: Bool
  ) -> UnsafeMutablePointer<DelayedRequest>? {
    var next = loop.firstDelayed
    while let node = next {
      if targetAlone ? node.pointee.request.target == like.target : node.pointee.request.matches(like) { return node }
      next = node.pointee.next
    }
    return nil
  }

  // MARK: The timer's callbacks

  private static let fire: Loop.PlainItem = { _, info in
    guard let node = info?.assumingMemoryBound(to: DelayedRequest.self) else { return }
    unlist(node)
    let (request, loop) = (node.pointee.request, node.pointee.loop)
    _ = request.perform(on: loop.handlePointer, mode: loop.currentModeName)
  }

  /// Once, when the timer has fired, or never will.
  private static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
    guard let info else { return }
    let node = info.assumingMemoryBound(to: DelayedRequest.self)
    unlist(node)
    let request = node.pointee.request
    treadle_system_free(info)
    request.dispose()
  }

  // MARK: The loop's list

  private static func list(_ node: UnsafeMutablePointer<DelayedRequest>) {
    let loop = node.pointee.loop
    node.pointee.previous = loop.lastDelayed
    if let last = loop.lastDelayed { last.pointee.next = node } else { loop.firstDelayed = node }
    loop.lastDelayed = node
    node.pointee.isListed = true
  }

  private static func unlist(_ node: UnsafeMutablePointer<DelayedRequest>) {
    if !node.pointee.isListed { return }
    node.pointee.isListed = false
    let loop = node.pointee.loop
    let (previous, next) = (node.pointee.previous, node.pointee.next)
    if let previous { previous.pointee.next = next } else { loop.firstDelayed = next }
    if let next { next.pointee.previous = previous } else { loop.lastDelayed = previous }
  }
}

extension Loop {
  fileprivate var firstDelayed: UnsafeMutablePointer<DelayedRequest>? {
    get { state.pointee.firstDelayed?.assumingMemoryBound(to: DelayedRequest.self) }
    nonmutating set { state.pointee.firstDelayed = newValue.map { UnsafeMutableRawPointer($0) } }
  }
  fileprivate var lastDelayed: UnsafeMutablePointer<DelayedRequest>? {
    get { state.pointee.lastDelayed?.assumingMemoryBound(to: DelayedRequest.self) }
    nonmutating set { state.pointee.lastDelayed = newValue.map { UnsafeMutableRawPointer($0) } }
  }
}
