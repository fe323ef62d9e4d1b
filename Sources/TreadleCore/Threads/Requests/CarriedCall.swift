// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// One call that is carried to a loop: queued among its jobs, performed once or never, and over exactly once. A thin
/// handle. The memory is counted, since a waiter that gives up leaves a call behind that still runs, and it holds room
/// for what the owner wants to carry. Performed once only: the next call is another one.
package struct CarriedCall {
  /// Does it, on the thread of the loop. Gets the room, and the loop's handle. False when a host's callback did not
  /// complete: the run ends.
  package typealias Body = @convention(c) (UnsafeMutableRawPointer, OpaquePointer?) -> Bool
  /// It is over, said once with the phase, by whatever thread knows first, and before anybody who waits goes on. Not
  /// said of a call that was refused, and not in the child of a fork.
  package typealias End = @convention(c) (UnsafeMutableRawPointer, UInt32) -> Void
  /// Nobody knows the room any more, nor the memory that it is in, which goes back to where the owner has it from.
  package typealias Free = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  /// The caller's thread has ended, in the wait's run or in the function that it called directly: `perform` never
  /// returns then.
  package typealias Abandon = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// `Job.Phase`, but for what nobody is told.
  package enum Phase {
    package static let idle = Job.Phase.idle
    package static let queued = Job.Phase.queued
    package static let running = Job.Phase.running
    package static let done = Job.Phase.done
    package static let cancelled = Job.Phase.cancelled
    package static let dropped = Job.Phase.dropped
  }

  let address: UnsafeMutablePointer<CarriedCallState>
  /// What the handle leads to.
  @inline(__always)
  var state: CarriedCallState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  private init(_ memory: UnsafeMutableRawPointer) {
    address = memory.assumingMemoryBound(to: CarriedCallState.self)
  }

  // MARK: Its memory

  /// The memory of a call with so much room for its owner.
  @inline(__always)
  package static func size(room: Int) -> Int { roomOffset &+ room }

  /// A call in memory of that size, aligned to 16; the owner has the first reference. The process has been started.
  package static func make(
    in memory: UnsafeMutableRawPointer, body: @escaping Body, end: @escaping End, free: @escaping Free,
    abandon: @escaping Abandon
  ) -> CarriedCall {
    let call = CarriedCall(memory)
    call.address.initialize(
      to: CarriedCallState(tag: treadle_system_tag(), body: body, end: end, free: free, abandon: abandon))
    return call
  }

  /// What the owner carries, aligned to 16.
  package var room: UnsafeMutableRawPointer { UnsafeMutableRawPointer(address) + CarriedCall.roomOffset }
  private static var roomOffset: Int { (MemoryLayout<CarriedCallState>.size &+ 15) & ~15 }
  /// The call whose room this is.
  package static func withRoom(_ room: UnsafeMutableRawPointer) -> CarriedCall { CarriedCall(room - roomOffset) }

  package func retain() { state.references.add(1, ordering: .relaxed) }
  package func release() {
    if state.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    state.free(room, UnsafeMutableRawPointer(address))
  }

  /// The job is the first member.
  var job: UnsafeMutablePointer<Job> { UnsafeMutableRawPointer(address).assumingMemoryBound(to: Job.self) }

  package var phase: UInt32 { job.pointee.phase.load(ordering: .acquiring) }
  /// Over, and everybody told.
  var isOver: Bool { state.completion.isOver }
  /// Its place among all jobs of the loop, once it is queued.
  package var place: UInt64 { job.pointee.sequence }
  /// The loop that is to perform it, once it is prepared.
  var queuedOn: Loop? { state.loop.map { Loop(UnsafeMutableRawPointer($0)) } }
  /// In the child of a fork nobody ends the call any more.
  package var isForked: Bool { treadle_system_tag() != state.tag }

  // MARK: Queued

  /// Finds the modes and makes what a queued call needs. Nothing is taken over: what it throws can be tried again.
  func prepare(for loop: Loop, modes: ModeNames?) throws(Failure) {
    if let modes {
      for name in modes where name == nil { throw Failure(Status.argument, "modes", "contains NULL") }
    }
    do throws(Failure) {
      try loop.resolve(modes, into: &job.pointee.modes)
      if modes == nil { _ = try loop.findOrMakeCallMode() }
    } catch {
      job.pointee.modes.free()
      throw error
    }
    state.loop = loop.address
  }

  /// Undoes that, for a call that is not queued after all.
  func unprepare() {
    job.pointee.modes.free()
    state.loop = nil
  }

  /// The queue gets a reference: the caller's, or one of its own. Throws, with nothing left of `prepare`, when the loop
  /// has ended.
  func enqueue(on loop: Loop, handsOver: Bool = false) throws(Failure) {
    if !handsOver { retain() }
    if loop.enqueue(job) { return }
    unprepare()
    if !handsOver { release() }
    throw treadle_system_is_closed_now()
      ? Shutdown.failure : Failure(Status.closed, "thread", "has ended or is ending")
  }

  /// Takes the call out of its queue if it has not begun: it never will. False when there is nothing to take out.
  package func cancel() -> Bool { end(Phase.cancelled) }
  /// The same for a caller whose reference is dropped if the call's end ends the thread.
  package func cancelHeld() -> Bool {
    ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: CarriedCall.self).pointee.release() }) {
      cancel()
    }
  }

  /// Takes the call out of its queue if it has not begun, and says by the phase what it has come to.
  func end(_ phase: UInt32) -> Bool {
    guard self.phase == Phase.queued, let loop = queuedOn, loop.takeOut(job) else { return false }
    finish(phase)
    return true
  }

  // MARK: The end of the queue

  /// It is no queued call's turn: the caller performs it himself. Relaxed: no queue has it, and a thread that finds it
  /// running looks at nothing else.
  func markRunning() { job.pointee.phase.store(Phase.running, ordering: .relaxed) }

  func run(on loop: OpaquePointer?) -> Bool {
    state.edge.markBegun()
    let own = treadle_system_errno()
    treadle_system_set_errno(state.errno)
    let isComplete = state.body(room, loop)
    state.errno = treadle_system_errno()
    treadle_system_set_errno(own)
    return isComplete
  }

  static let performJob: Job.Perform = { job, loop, _ in CarriedCall(job).run(on: loop) }
  static let finishJob: Job.Finish = { job, phase in
    CarriedCall(job).finish(phase == Phase.dropped ? Phase.dropped : Phase.done)
  }

  /// Gives up the queue's reference.
  func finish(_ phase: UInt32) {
    // The function forked, and this is the child: whoever waits does so in the parent.
    if isForked { return treadle_system_forget(address) }
    job.pointee.modes.free()
    // Relaxed: a thread that finds it over by the phase alone reads nothing else of it. The completion and the owner's
    // lock order more.
    job.pointee.phase.store(phase, ordering: .relaxed)
    // The client may end the thread in it: waiters are woken all the same.
    ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: CarriedCall.self).pointee.tellEnd() }) {
      state.end(room, phase)
    }
    tellEnd()
  }

  private func tellEnd() {
    state.edge.markOver()
    state.completion.end()
    if let loop = takeWaitingLoop() {
      loop.wake()
      loop.drop()
    }
    release()
  }

  func takeWaitingLoop() -> Loop? {
    // Written before it was queued, if ever: relaxed is enough to see that there is none.
    if state.waitingLoop.load(ordering: .relaxed) == nil { return nil }
    // One of two threads gets it, and neither has written anything for the other. The loop is there as long as the
    // reference.
    let loop = state.waitingLoop.exchange(nil, ordering: .relaxed)
    return loop.map { Loop(UnsafeMutableRawPointer($0)) }
  }
}

/// The memory of a call that is carried to a loop, before that of its owner (`CarriedCall.room`).
struct CarriedCallState: ~Copyable {
  /// First: the loop's queue knows the call by it.
  var job: Job
  /// Over, and everybody told.
  let completion: Completion
  /// How many keep the memory: its owner, the queue, whoever waits.
  let references: Atomic<UInt32>
  /// The life of the process that it was made in: the child of a fork leaves its parent's calls alone.
  let tag: UInt32
  /// What the client's function is, and what belongs to it. Constant.
  let body: CarriedCall.Body
  let end: CarriedCall.End
  let free: CarriedCall.Free
  let abandon: CarriedCall.Abandon
  /// The loop in whose queue it is, or was. Written before it is queued. Loops' memory stays, and a loop that came
  /// after it does not know the call.
  var loop: UnsafeMutablePointer<LoopState>?
  /// What the wait graph knows of the wait. Written before it is queued.
  var token = WaitToken()
  /// Here, and not on the waiter's stack, since its thread may end inside of the run that waits. Wait gate.
  var edge = WaitEdge()
  /// The caller's errno, and when the call is done that of the function.
  var errno = treadle_system_errno()
  /// The loop, with a reference, that its waiter runs meanwhile. Whoever takes it out drops the reference.
  let waitingLoop: Atomic<UnsafeMutablePointer<LoopState>?>

  init(
    tag: UInt32, body: @escaping CarriedCall.Body, end: @escaping CarriedCall.End, free: @escaping CarriedCall.Free,
    abandon: @escaping CarriedCall.Abandon
  ) {
    job = Job(perform: CarriedCall.performJob, finish: CarriedCall.finishJob, isForCallMode: true)
    completion = Completion()
    references = Atomic(1)
    self.tag = tag
    self.body = body
    self.end = end
    self.free = free
    self.abandon = abandon
    loop = nil
    waitingLoop = Atomic(nil)
  }
}
