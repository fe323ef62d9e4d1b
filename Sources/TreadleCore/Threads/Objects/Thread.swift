// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import struct Synchronization.Atomic
package import TreadleBase

/// A thread's object: a thin handle, copied freely. The thread itself holds a reference from its start to its end
/// (THR-4).
package struct Thread {
  let address: UnsafeMutablePointer<ThreadState>
  /// What the handle leads to.
  @inline(__always)
  var state: ThreadState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  /// THR-1, in this order; the values are the C header's.
  package enum Phase {
    package static let created: UInt32 = 0
    package static let starting: UInt32 = 1
    package static let executing: UInt32 = 2
    package static let finished: UInt32 = 3
  }
  enum Flag {
    static let cancelled: UInt32 = 1
    /// Its loop is to stop at all levels, also one that is made later.
    static let stopped: UInt32 = 2
    /// The will-exit notification was posted.
    static let announced: UInt32 = 4
    static let main: UInt32 = 8
    /// Somebody else started it, or it is the main thread.
    static let foreign: UInt32 = 16
    /// The system did not permit its policy.
    static let refused: UInt32 = 32
    /// The system has been told its attributes, or is about to be. Set under the lock.
    static let planned: UInt32 = 64
    /// The wait of `startAndWait` has timed out: the next one starts nothing.
    static let awaited: UInt32 = 128
  }
  /// Outcomes of `ThreadState.readiness`.
  enum Readiness {
    static var ready: UInt32 { Completion.over }
    static var ended: UInt32 { Completion.over + 1 }
    /// The same, and a run of its loop has found nothing in its mode.
    static var endedIdle: UInt32 { Completion.over + 2 }
  }
  enum Joining {
    static let joinable: UInt32 = 0
    static let detached: UInt32 = 1
    static let inProgress: UInt32 = 2
    static let joined: UInt32 = 3
  }

  init(_ memory: UnsafeMutableRawPointer) { address = memory.assumingMemoryBound(to: ThreadState.self) }
  init?(slot: UInt32) {
    guard slot != 0, let memory = Slab(.thread).memory(slot) else { return nil }
    self.init(memory)
  }

  /// The thread that a client's handle means, held until `letGo`.
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> Thread {
    Thread(try Slab(.thread).hold(handle, subject))
  }
  package func letGo() { drop() }
  /// `letGo` for a caller in whose `body` the client ends the calling thread.
  @inline(__always)
  package func droppedIfThreadEnds<Result, Refusal: Error>(_ body: () throws(Refusal) -> Result) throws(Refusal)
    -> Result
  {
    try ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Thread.self).pointee.drop() }, body)
  }

  package var handle: Handle {
    Handle(kind: .thread, slot: state.slot, generation: state.reference.generation)
  }

  func lock() { state.mutex.lock(.thread) }
  func unlock() { state.mutex.unlock(.thread) }

  package var phase: UInt32 { state.phase.load(ordering: .acquiring) }
  package var isExecuting: Bool { phase == Phase.executing }
  package var isFinished: Bool { phase == Phase.finished }
  package var isMain: Bool { hasFlag(Flag.main) }
  package var isCancelled: Bool { hasFlag(Flag.cancelled) }
  package var isCurrent: Bool { treadle_system_thread().pointee.thread == UnsafeMutableRawPointer(address) }
  package var kernelID: Int32 { state.kernelID.load(ordering: .relaxed) }
  /// The same; nil when there is none.
  package var knownID: Int32? {
    let id = kernelID
    return id == 0 ? nil : id
  }

  func hasFlag(_ flag: UInt32) -> Bool { state.flags.load(ordering: .relaxed) & flag != 0 }
  /// The flags as they were.
  @discardableResult
  func setFlag(_ flag: UInt32) -> UInt32 {
    state.flags.bitwiseOr(flag, ordering: .relaxed).oldValue
  }

  package func pthread() throws(Failure) -> UInt {
    // Relaxed: the load of the phase acquires, for a started thread; the object's reference orders that of a foreign
    // thread.
    let pthread = state.pthread.load(ordering: .relaxed)
    if pthread == 0 || !isExecuting { throw Failure(Status.state, "thread", "does not execute") }
    return pthread
  }

  /// Makes an object whose only reference is the client's.
  package static func create(_ entry: ThreadEntry, isDetached: Bool = false) throws(Failure) -> Thread {
    let thread = try make(entry, flags: 0)
    if isDetached { thread.state.joining = Joining.detached }
    thread.state.reference.begin(forClient: true)
    return thread
  }

  /// An object that nobody knows of yet: its life begins with `Reference.begin`.
  @inline(never)
  static func make(_ entry: ThreadEntry, flags: UInt32) throws(Failure) -> Thread {
    try Runtime.start()
    Slab(.thread).checkRoom(for: ThreadState.self)
    guard let (slot, memory) = Slab(.thread).take() else { throw Failure.noMemory("thread") }
    let thread = Thread(memory)
    thread.state.slot = slot
    thread.state.phase.store(Phase.created, ordering: .relaxed)
    thread.state.flags.store(flags, ordering: .relaxed)
    thread.state.readiness.reset()
    thread.state.gone.reset()
    thread.state.kernelID.store(0, ordering: .relaxed)
    WaitGraph.clearWaits(of: thread)
    thread.state.starter = WaitToken()
    thread.state.pthread.store(0, ordering: .relaxed)
    thread.state.loop.store(nil, ordering: .relaxed)
    thread.state.joining = Joining.joinable
    thread.state.policy = 0
    thread.state.isPriorityApplied = true
    thread.state.stackSize = Thread.defaultStackSize
    thread.state.priority = 0.5
    thread.state.name = nil
    thread.state.dictionary = ValueTable()
    thread.state.entry = entry
    thread.state.result = nil
    return thread
  }

  /// Returns a reference that the client owns.
  package static func release(_ handle: UInt) throws(Failure) {
    Thread(try Slab(.thread).surrender(handle, "thread")).drop()
  }

  /// Drops one of our own references.
  func drop() {
    let left = state.reference.drop()
    if left.isGone {
      free()
    } else if left.has(Reference.Mark.awaited) {
      Rest.announce()
    }
  }

  /// The same by one who has only looked, and whom nobody waits for: two who wait would wake each other for ever.
  func dropLook() {
    if state.reference.drop().isGone { free() }
  }

  /// Nothing refers to the object: the thread has finished, or was never started.
  private func free() {
    // A client's function may end the calling thread: the rest goes all the same.
    ObjectCall.recorded(handle.bits, holding: self, { $0.assumingMemoryBound(to: Thread.self).pointee.free() }) {
      if phase == Phase.created { abandon() }
      releaseValues()
    }
    // Relaxed: the drop of the last reference acquires.
    let pthread = state.pthread.load(ordering: .relaxed)
    if state.joining == Joining.joinable && pthread != 0 { _ = treadle_system_thread_detach(pthread) }
    treadle_system_free(state.name)
    state.name = nil
    Slab(.thread).free(state.slot, UnsafeMutableRawPointer(address))
  }

  /// A thread that never runs: its entry goes back, and so does what waits in its loop.
  func abandon() {
    var entry = state.entry
    state.entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    ObjectCall.during(handle.bits, &entry) { $0?.assumingMemoryBound(to: ThreadEntry.self).pointee.dispose() }
    giveUpLoop()?.tearDown()
  }
}

/// The memory of a thread's object. Guards: *lock*: `mutex`; *wait gate*: the one of `WaitGraph`.
struct ThreadState: ~Copyable {
  let reference: Reference
  /// What a late caller may still touch of a slot that is free (see `Slab`).
  let touched: Atomic<UInt64>
  /// Constant.
  var slot: UInt32
  /// `Thread.Phase`. Written under the lock, read also without. The stores by the thread itself release: a reader of
  /// `executing` sees the thread's ids, a reader of `finished` what the thread wrote. The stores by a starter are
  /// relaxed: a starter takes a reference before its store and a reader drops one after its load, and these updates
  /// order what the starter wrote.
  let phase: Atomic<UInt32>
  /// `Thread.Flag` bits. Atomic, relaxed. `stopped` and `planned` are set and read under the lock. A caller of `cancel`
  /// takes a reference before, and a reader of `cancelled` drops one after its load: these updates order what was
  /// written before the cancel.
  let flags: Atomic<UInt32>
  /// Guards what says *lock*.
  let mutex: Mutex
  /// Ends when the thread is ready, or has ended: `Thread.Readiness`.
  let readiness: Completion
  /// Ends with the thread's teardown; what is left of it then are clients' destructors that come late.
  let gone: Completion
  /// The kernel's id while the thread executes. Atomic. Relaxed: a number, which `phase` publishes.
  let kernelID: Atomic<Int32>
  /// Who waits without end for this one to be ready. Written before the start.
  var starter: WaitToken
  /// What this thread waits for, the innermost wait first. Wait gate.
  var waits: UnsafeMutablePointer<WaitEdge>?
  /// The pthread_t, once there is one. Atomic.
  let pthread: Atomic<UInt>
  /// The thread's loop, also before the thread asked for it itself. Written and dereferenced under the lock; without
  /// it, it is only compared. So all accesses are relaxed.
  let loop: Atomic<UnsafeMutablePointer<LoopState>?>

  /// `Thread.Joining`. Lock.
  var joining: UInt32
  // Attributes. Lock; constant from the start on, but for the name and the priority.
  var policy: UInt32
  var isPriorityApplied: Bool
  var stackSize: Int
  var priority: Double
  var name: UnsafeMutablePointer<CChar>?
  /// Lock.
  var dictionary: ValueTable

  /// What the thread runs: written before anybody knows the object, taken by whoever runs or drops it.
  var entry: ThreadEntry
  /// Written by the thread before its end, read after it.
  var result: UnsafeMutableRawPointer?
}
