// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// One call that is carried to a loop: queued among its requests, performed once or never, and over exactly once.
/// A thin handle. The memory is counted, since a waiter that gives up leaves a call behind that still runs, and it
/// holds room for what the owner wants to carry. Performed once only: the next call is another one.
package struct CarriedCall {
  /// Does it, on the thread of the loop. Gets the room, and
  /// the loop's handle. False when a host's callback did not complete: the run ends.
  package typealias Body = @convention(c) (UnsafeMutableRawPointer, OpaquePointer?) -> Bool
  /// It is over, said once with the phase, by whatever thread knows first, and before anybody who waits goes on. Not
  /// said of a call that was refused, and not in the child of a fork.
  package typealias End = @convention(c) (UnsafeMutableRawPointer, UInt32) -> Void
  /// Nobody knows the room any more, nor the memory that it is in, which goes back to where the owner has it from.
  package typealias Free = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  /// The waiting thread has ended inside of the wait, in the wait's run: `perform` never returns then.
  package typealias Abandon = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// In this order; the values are the C header's of an invocation.
  package enum Phase {
    package static let idle: UInt32 = 0
    package static let queued: UInt32 = 1
    package static let running: UInt32 = 2
    package static let done: UInt32 = 3
    package static let cancelled: UInt32 = 4
    /// The thread that was to do it has ended, or everything was shut down.
    package static let dropped: UInt32 = 5
  }
  enum Word {
    static let awake: UInt32 = 0
    static let asleep: UInt32 = 1
    static let over: UInt32 = 2
  }

  let state: UnsafeMutablePointer<CarriedCallState>

  init(_ node: UnsafeMutablePointer<RequestNode>) {
    state = (UnsafeMutableRawPointer(node) - CarriedCall.nodeOffset).assumingMemoryBound(to: CarriedCallState.self)
  }
  private init(_ memory: UnsafeMutableRawPointer) {
    state = memory.assumingMemoryBound(to: CarriedCallState.self)
  }

  /// The memory of a call with so much room for its owner.
  @inline(__always)
  package static func size(room: Int) -> Int { roomOffset &+ room }

  /// A call in memory of that size, aligned to 16; the owner has the first reference. The process has been started.
  package static func make(
    in memory: UnsafeMutableRawPointer, body: @escaping Body, end: @escaping End, free: @escaping Free,
    abandon: @escaping Abandon
  ) -> CarriedCall {
    let call = CarriedCall(memory)
    call.state.initialize(to: CarriedCallState(tag: treadle_system_tag(), body: body, end: end, free: free, abandon: abandon))
    return call
  }

  /// What the owner carries, aligned to 16.
  package var room: UnsafeMutableRawPointer { UnsafeMutableRawPointer(state) + CarriedCall.roomOffset }
  private static var roomOffset: Int { (MemoryLayout<CarriedCallState>.size &+ 15) & ~15 }
  /// The call whose room this is.
  package static func withRoom(_ room: UnsafeMutableRawPointer) -> CarriedCall { CarriedCall(room - roomOffset) }

  package func retain() { state.pointee.references.add(1, ordering: .relaxed) }
  package func release() {
    if state.pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    let loop = state.pointee.loop
    state.pointee.free(room, UnsafeMutableRawPointer(state))
    if let loop { Loop(UnsafeMutableRawPointer(loop)).drop() }
  }

  package var phase: UInt32 { state.pointee.phase.load(ordering: .acquiring) }
  /// Whether somebody waits for it, or has. Asked once it is queued.
  var hasWaiter: Bool { state.pointee.token.thread != 0 }
  /// Over, and everybody told.
  var isOver: Bool { state.pointee.word.load(ordering: .sequentiallyConsistent) == Word.over }

  /// Where `CarriedCallState.node` lies.
  static let nodeOffset = 8
  var node: UnsafeMutablePointer<RequestNode> {
    (UnsafeMutableRawPointer(state) + CarriedCall.nodeOffset).assumingMemoryBound(to: RequestNode.self)
  }

  // MARK: Queued

  /// Finds the modes and makes what a queued call needs. Nothing is taken over: what it throws can be tried again.
  func prepare(for loop: Loop, modes: Thread.Modes?) throws(Failure) {
    if let modes {
      for name in modes where name == nil { throw Failure(Status.argument, "modes", "contains NULL") }
    }
    do throws(Failure) {
      try loop.resolve(modes, into: &state.pointee.node.modes)
      if modes == nil { _ = try loop.findOrMakeCallMode() }
    } catch {
      state.pointee.node.modes.free()
      throw error
    }
    loop.state.pointee.reference.retainHeld()
    state.pointee.loop = loop.state
  }

  /// Undoes that, for a call that is not queued after all.
  func unprepare() {
    state.pointee.node.modes.free()
    let loop = state.pointee.loop
    state.pointee.loop = nil
    if let loop { Loop(UnsafeMutableRawPointer(loop)).drop() }
  }

  /// The queue gets a reference: the caller's, or one of its own. Throws, with nothing left of `prepare`, when the loop
  /// has ended.
  func enqueue(on loop: Loop, handsOver: Bool = false) throws(Failure) {
    if !handsOver { retain() }
    if loop.enqueue(node) { return }
    unprepare()
    if !handsOver { release() }
    throw treadle_system_is_closed_now()
      ? Shutdown.failure : Failure(Status.closed, "thread", "has ended, or ends")
  }

  /// Its place among all requests of the loop, once it is queued.
  package var place: UInt64 { state.pointee.node.sequence }

  /// It is in the queue. The caller holds the loop's gate.
  func markQueued() { state.pointee.phase.store(Phase.queued, ordering: .releasing) }

  /// Takes the call out of its queue if it has not begun: it never will. False when there is nothing to take out.
  package func cancel() -> Bool { end(Phase.cancelled) }

  /// The same, with the phase that it comes to.
  func end(_ phase: UInt32) -> Bool {
    guard self.phase == Phase.queued, let loop = state.pointee.loop, Loop(UnsafeMutableRawPointer(loop)).takeOut(node) else { return false }
    finish(phase)
    return true
  }

  // MARK: The end of the queue

  /// A pass has taken it. The caller holds the loop's lock.
  func markRunning() { state.pointee.phase.store(Phase.running, ordering: .releasing) }

  func run(on loop: Loop?) -> Bool {
    state.pointee.edge.markBegun()
    return state.pointee.body(room, loop.flatMap { OpaquePointer(bitPattern: $0.handle.bits) })
  }

  /// Gives up the queue's reference.
  func finish(_ phase: UInt32) {
    if treadle_system_tag() != state.pointee.tag { return leaveToParent() }
    state.pointee.node.modes.free()
    state.pointee.phase.store(phase, ordering: .releasing)
    state.pointee.end(room, phase)
    state.pointee.edge.markOver()
    let before = state.pointee.word.exchange(Word.over, ordering: .sequentiallyConsistent)
    if before == Word.asleep { treadle_system_futex_wake(wordAddress, 1) }
    if let loop = takeWaitingLoop() {
      loop.wake()
      loop.drop()
    }
    release()
  }

  /// The function forked, and this is the child: whoever waits does so in the parent.
  private func leaveToParent() { treadle_system_forget(state) }

  // MARK: Who waits

  /// Where `CarriedCallState.word` lies: the kernel wants its address.
  var wordAddress: UnsafeMutableRawPointer { UnsafeMutableRawPointer(state) }

  func takeWaitingLoop() -> Loop? {
    // Written before it was queued, if ever: relaxed is enough to see that there is none.
    if state.pointee.waitingLoop.load(ordering: .relaxed) == nil { return nil }
    let loop = state.pointee.waitingLoop.exchange(nil, ordering: .acquiringAndReleasing)
    return loop.map { Loop(UnsafeMutableRawPointer($0)) }
  }
}
