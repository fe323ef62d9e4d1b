// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A run loop: a thin handle, copied freely, through which all code reaches the loop's memory.
package struct Loop {
  let state: UnsafeMutablePointer<LoopState>

  @inline(__always)
  init(_ memory: UnsafeMutableRawPointer) { state = memory.assumingMemoryBound(to: LoopState.self) }

  /// The loop that a client's handle means.
  @inline(__always)
  package init(_ handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    guard let memory = Slab(.loop).find(handle) else { throw handle.failure(subject) }
    self.init(memory)
  }

  /// Held until `letGo`: the loop's thread may exit meanwhile (RL-9).
  @inline(__always)
  package func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) {
    guard state.pointee.reference.retain(generation: Handle(bits: handle).generation) else {
      throw Handle(bits: handle).failure(subject)
    }
  }
  @inline(__always)
  package func letGo() { drop() }
  /// For one who holds it already.
  package func holdAgain() { state.pointee.reference.retainHeld() }

  @inline(__always)
  package var handle: Handle {
    Handle(kind: .loop, slot: state.pointee.slot, generation: state.pointee.reference.generation)
  }

  /// Where the lock lies in the loop's slot, behind `LoopState`.
  static let lockOffset = 464

  /// Guards the modes and what is in them (`LoopState`).
  @inline(__always)
  var mutex: LoopLock { LoopLock(UnsafeMutableRawPointer(state) + Loop.lockOffset) }

  /// Stands for the id of a thread that has not asked for its loop yet.
  static let futureThread: Int32 = -1

  /// False once the loop's thread is gone.
  package var isAlive: Bool { state.pointee.threadID.load(ordering: .acquiring) != 0 }
  /// The kernel's id of the loop's thread; 0 when there is none, or none yet.
  package var threadID: Int32 { max(state.pointee.threadID.load(ordering: .acquiring), 0) }

  @inline(__always)
  package var isCurrent: Bool { treadle_system_thread().pointee.loop == UnsafeMutableRawPointer(state) }

  /// The same for those who ask in earnest: somebody else may have made the loop for the calling thread, which
  /// has not asked for it yet.
  package var belongsToCaller: Bool {
    if isCurrent { return true }
    let thread = Thread.existing
    let isPromised = thread?.state.pointee.loop.load(ordering: .acquiring) == state
    if !isPromised && threadID != (thread?.knownID ?? treadle_system_thread_id()) { return false }
    return (try? Loop.current())?.state == state
  }

  /// Whether the thread blocks, or is about to (WAKE-6).
  package var isWaiting: Bool { state.pointee.waiting.load(ordering: .acquiring) != 0 }

  package func retain() -> Int32 {
    state.pointee.reference.retainForClient(generation: state.pointee.reference.generation)
  }

  package func release() throws(Failure) {
    guard state.pointee.reference.surrenderClient(generation: state.pointee.reference.generation) == Status.ok else {
      throw Failure(Status.stale, "loop", "was released more often than retained")
    }
    drop()
  }

  /// Drops one of our own references.
  func drop() {
    if state.pointee.reference.release() { free() }
  }

  /// A loop that is not served by a thread yet, with the two modes that every loop has (RL-4).
  static func create(threadID: Int32) throws(Failure) -> Loop {
    guard let slot = Slab(.loop).allocate(), let memory = Slab(.loop).memory(slot) else {
      throw Failure.noMemory("loop")
    }
    let loop = Loop(memory)
    let state = loop.state
    state.pointee.slot = slot
    state.pointee.threadID.store(threadID, ordering: .releasing)
    state.pointee.wakeDescriptor.store(-1, ordering: .relaxed)
    state.pointee.interruptDescriptor.store(-1, ordering: .relaxed)
    state.pointee.requestCount = 0
    state.pointee.thread.store(0, ordering: .relaxed)
    state.pointee.callMode.store(0, ordering: .relaxed)
    guard let common = Mode.create(in: loop, name: CommonModes.name, isRecord: true),
      let standard = Mode.create(in: loop, name: CommonModes.defaultName, isRecord: false)
    else {
      loop.free()
      throw Failure.noMemory("loop")
    }
    state.pointee.commonRecord = common.slot
    state.pointee.defaultMode = standard.state
    standard.state.pointee.isCommon = true
    return loop
  }

  /// Returns the memory of a loop that nothing refers to. Its thread is gone, or it never had one.
  private func free() {
    if let record = Mode(slot: state.pointee.commonRecord) { record.free() }
    for slot in state.pointee.modes.elements {
      if let mode = Mode(slot: slot) { mode.free() }
    }
    state.pointee.modes.free()
    state.pointee.incoming.free()
    state.pointee.spare.free()
    state.pointee.deferred.free()
    while let frame = state.pointee.spareFrames {
      state.pointee.spareFrames = frame.pointee.outer
      Frame.free(frame)
    }
    state.pointee.frame = nil
    state.pointee.commonRecord = 0
    state.pointee.defaultMode = nil
    state.pointee.wakePending.store(0, ordering: .relaxed)
    state.pointee.stopPending.store(0, ordering: .relaxed)
    state.pointee.stickyStop.store(0, ordering: .relaxed)
    state.pointee.depth.store(0, ordering: .relaxed)
    state.pointee.currentMode.store(0, ordering: .relaxed)
    state.pointee.incomingCount.store(0, ordering: .relaxed)
    state.pointee.waiting.store(0, ordering: .relaxed)
    state.pointee.caller.store(0, ordering: .relaxed)
    state.pointee.answerer.store(0, ordering: .relaxed)
    state.pointee.answerBudget.store(0, ordering: .relaxed)
    state.pointee.spinBudget = 0
    state.pointee.isCalledFromOutside = false
    state.pointee.isChasing = false
    state.pointee.isOverrun = false
    hand.pointee.is_woken = false
    state.pointee.timerStock.empty(into: Slab(.timer))
    state.pointee.lastReading = 0
    state.pointee.readingTick = 0
    closeWindow()
    Slab(.loop).free(state.pointee.slot)
  }
}
