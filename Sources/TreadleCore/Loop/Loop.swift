// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A run loop: a thin handle, copied freely, through which all code reaches the loop's memory.
package struct Loop {
  let address: UnsafeMutablePointer<LoopState>
  /// What the handle leads to.
  @inline(__always)
  var state: LoopState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  @inline(__always)
  package init(_ memory: UnsafeMutableRawPointer) { address = memory.assumingMemoryBound(to: LoopState.self) }

  // MARK: Handles

  /// The loop that a client's handle means, held until `letGo`: its thread may exit meanwhile (RL-9).
  @inline(__always)
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> Loop {
    Loop(try Slab(.loop).hold(handle, subject))
  }
  @inline(__always)
  package func letGo() { drop() }
  package func isSame(as other: Loop) -> Bool { address == other.address }
  /// For one who holds it already.
  package func holdAgain() { state.reference.holdAgain() }

  /// How long callers look for the loop's answer before they sleep.
  @inline(__always)
  var answers: UnsafeMutablePointer<AdaptiveSpin> { withUnsafeMutablePointer(to: &state.answers) { $0 } }

  /// Tells loops that exist at the same time apart.
  @inline(__always)
  package var identity: UInt { UInt(bitPattern: address) }

  package var counters: UnsafeMutablePointer<LoopCounters> { withUnsafeMutablePointer(to: &state.counters) { $0 } }

  /// The loop that a client's handle means, as of now, for calls that are safe on a loop whose thread is gone, and on
  /// another one in its place: they are made from signal handlers.
  package init(unheld handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    guard let memory = Slab(.loop).find(handle) else { throw handle.failure(subject) }
    self.init(memory)
  }

  @inline(__always)
  package var handle: Handle {
    Handle(kind: .loop, slot: state.slot, generation: state.reference.generation)
  }
  @inline(__always)
  var handlePointer: OpaquePointer? { OpaquePointer(bitPattern: handle.bits) }

  /// Whether the handle's loop has its thread still. A loop that came after it in the same slot was given its number
  /// before its thread.
  @inline(__always)
  func isAliveAs(_ handle: UInt) -> Bool {
    isAlive && state.reference.generation == Handle(bits: handle).generation
  }

  // MARK: Its thread

  /// Stands for the id of a thread that has not asked for its loop yet.
  static let futureThread: Int32 = -1

  /// False once the loop's thread is gone. Acquires the generation (`isAliveAs`).
  package var isAlive: Bool { state.threadID.load(ordering: .acquiring) != 0 }
  /// The kernel's id of the loop's thread; 0 when there is none, or none yet.
  package var threadID: Int32 { max(state.threadID.load(ordering: .relaxed), 0) }

  /// The calling thread's loop if it has one already.
  @inline(__always)
  package static var existing: Loop? {
    guard let memory = treadle_system_thread().pointee.loop, Runtime.isStarted else { return nil }
    return Loop(memory)
  }

  @inline(__always)
  package var isCurrent: Bool { treadle_system_thread().pointee.loop == UnsafeMutableRawPointer(address) }

  /// What a thread gets that would run another one's loop.
  static var runsElsewhere: Failure {
    Failure(Status.wrongThread, "loop", "belongs to another thread: a loop runs only on its own thread")
  }

  /// For what must be done by the loop's own thread. A loop whose thread is gone has none.
  @inline(__always)
  func assertOwner() { assert(isCurrent || !isAlive, "this is for the loop's own thread") }

  /// Whether the thread blocks, or is about to (WAKE-6).
  package var isWaiting: Bool { state.waiting.load(ordering: .acquiring) != 0 }

  /// A host's callback failed: the innermost run ends. Owner.
  package func failRun() {
    assertOwner()
    if state.depth.load(ordering: .relaxed) != 0 { fail() }
  }

  /// The same, within a run.
  func fail() { state.stop.bitwiseOr(LoopState.Stop.failed, ordering: .relaxed) }
  var hasFailed: Bool { state.stop.load(ordering: .relaxed) & LoopState.Stop.failed != 0 }

  // MARK: Its life

  /// Returns a reference that the client owns.
  package static func release(_ handle: UInt) throws(Failure) {
    Loop(try Slab(.loop).surrender(handle, "loop")).drop()
  }

  /// Drops one of our own references.
  func drop() {
    if state.reference.drop().isGone { free() }
  }

  /// A loop that is not served by a thread yet, with the two modes that every loop has (RL-4), and one reference of
  /// ours.
  static func create(threadID: Int32) throws(Failure) -> Loop {
    Slab(.loop).checkRoom(for: LoopState.self)
    guard let (slot, memory) = Slab(.loop).take() else { throw Failure.noMemory("loop") }
    let loop = Loop(memory)
    // Whoever is late may look at it.
    if loop.state.slot != slot { loop.state.slot = slot }
    loop.state.wakeDescriptor.store(-1, ordering: .relaxed)
    loop.state.timerDescriptor.store(-1, ordering: .relaxed)
    loop.state.timerDate = Clock.forever
    loop.state.life = treadle_system_tag()
    loop.state.goingOn = loop.state.life
    loop.state.interruptDescriptor.store(-1, ordering: .relaxed)
    loop.state.awakeSince.store(Clock.lastTick, ordering: .relaxed)
    let common = Mode.create(in: loop, name: CommonModes.name, isRecord: true)
    loop.state.commonRecord = common?.slot ?? 0
    guard common != nil, let standard = Mode.create(in: loop, name: CommonModes.defaultName) else {
      loop.empty()
      Slab(.loop).giveBack(slot, memory)
      throw Failure.noMemory("loop")
    }
    loop.state.defaultMode = standard.address
    standard.state.isCommon.store(true, ordering: .relaxed)
    loop.state.reference.begin(forClient: false)
    // After the life has begun: who finds the thread finds the generation.
    loop.state.threadID.store(threadID, ordering: .releasing)
    return loop
  }

  /// Nothing refers to the loop. Its thread is gone, or it never had one.
  private func free() {
    empty()
    Slab(.loop).free(state.slot, UnsafeMutableRawPointer(address))
  }

  /// Gives back what the loop has, and makes its slot what a new one looks like. Late callers may still look at it.
  private func empty() {
    assert(OwnSlots.areNone(loop: UnsafeMutableRawPointer(address)), "the thread has passed its free slots on")
    record?.close()
    for slot in state.modes.elements { Mode(slot: slot)?.close() }
    state.modes.free()
    state.modesByName.free()
    state.modesToLookAt = 0
    state.incoming.free()
    state.spare.free()
    state.quietDrains = 0
    state.hasHalf = false
    state.deferred.free()
    state.delayed.free()
    state.delayedAlike.free()
    state.commonRecord = 0
    state.defaultMode = nil
    state.jobCount = 0
    state.isCalledFromOutside = false
    state.hasReading = false
    state.isWokenByOwner = false
    state.hasLeft = false
    state.firstPollable = 0
    state.isChasing = false
    state.isOverrun = false
    state.dropDepth = 0
    state.looks = 0
    state.lastSerial = 0
    state.ownTime = 0
    state.lastReading = 0
    state.readingTick = 0
    state.thread.store(0, ordering: .relaxed)
    state.callMode.store(0, ordering: .relaxed)
    state.pending.store(0, ordering: .relaxed)
    state.wakePending.store(0, ordering: .relaxed)
    state.stop.store(0, ordering: .relaxed)
    state.depth.store(0, ordering: .relaxed)
    state.currentMode.store(0, ordering: .relaxed)
    state.waiting.store(0, ordering: .relaxed)
    state.called = 0
    state.calledIsLeft = false
    state.calling.store(0, ordering: .relaxed)
    state.running.store(0, ordering: .relaxed)
    state.drained.store(0, ordering: .relaxed)
    state.calledSince.store(0, ordering: .relaxed)
    state.callers.reset()
    state.answers.reset()
    state.counters.reset()
  }
}

/// The time that a client may count from where the present to the nanosecond is not worth what it costs: a reading of
/// the clock by the loop's own thread, which is used again for a while. In a run that is for the rest of a callback,
/// unless another run begins or ends inside of it; outside of runs, until the kernel's next tick, which costs a quarter
/// of a reading to know of. In a callback every delay counts from it, of timers and of requests.
extension Loop {
  /// On a thread without a loop, the present.
  @inline(__always)
  package static func recentTime() -> Int64 {
    guard let loop = existing else { return Clock.now() }
    return loop.ownRecentTime()
  }

  /// Owner.
  @inline(__always)
  func ownRecentTime() -> Int64 {
    if state.frame == nil { return readingOfTick() }
    if !state.hasReading {
      assertOwner()
      state.lastReading = Clock.now()
      state.hasReading = true
    }
    return state.lastReading
  }

  /// What a delay counts from that the calling thread gives: in a callback its recent time, and anywhere else the
  /// present.
  @inline(__always)
  static func delayStart() -> Int64 {
    guard let loop = existing, loop.state.frame != nil else { return Clock.now() }
    return loop.ownRecentTime()
  }

  /// A run in between may have left a later reading, which is as good.
  @inline(__always)
  private func readingOfTick() -> Int64 {
    let tick = Clock.lastTick
    if tick != state.readingTick {
      state.lastReading = Clock.now()
      state.readingTick = tick
    }
    return state.lastReading
  }
}
