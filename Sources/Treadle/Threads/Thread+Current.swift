// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Which thread has which object, and which loop (THR-9, THR-10).
extension Thread {
  /// The calling thread's object, made now if somebody else started the thread.
  package static func current() throws(Failure) -> Thread {
    if let thread = existing { return thread }
    try Loop.startRuntime()
    let result = treadle_system_watch_thread()
    if result < 0 { throw Failure.system("thread-specific data", result) }
    let id = treadle_system_thread_id()
    let thread = id == treadle_system_process_id() ? try main() : try adopted(id)
    thread.state.pointee.pthread.store(treadle_system_thread_self(), ordering: .releasing)
    treadle_system_thread().pointee.thread = UnsafeMutableRawPointer(thread.state)
    return thread
  }

  /// The calling thread's object if it has one already.
  static var existing: Thread? {
    guard let memory = treadle_system_thread().pointee.thread, Runtime.isStarted else { return nil }
    return Thread(memory)
  }

  package static var isMainCalling: Bool { treadle_system_thread_id() == treadle_system_process_id() }

  /// The object of the process's initial thread.
  package static func main() throws(Failure) -> Thread {
    try Loop.startRuntime()
    let lock = Lock(treadle_system_start_lock())
    lock.lock()
    defer { lock.unlock() }
    let process = treadle_system_process()
    if let memory = process.pointee.main_thread { return Thread(memory) }
    let thread = try adopted(treadle_system_process_id(), flags: Flag.main)
    process.pointee.main_thread = UnsafeMutableRawPointer(thread.state)
    if let memory = process.pointee.main_loop {
      Loop(memory).state.pointee.thread.store(thread.state.pointee.slot, ordering: .releasing)
    }
    return thread
  }

  /// An object for a thread that executes already; its reference is the thread's.
  private static func adopted(_ id: Int32, flags: UInt32 = 0) throws(Failure) -> Thread {
    let thread = try create(ThreadEntry(code: nil, info: nil, destroy: nil))
    let state = thread.state
    state.pointee.flags.store(flags | Flag.foreign, ordering: .relaxed)
    state.pointee.joining = Joining.detached
    state.pointee.stackSize = 0
    state.pointee.kernelID.store(id, ordering: .relaxed)
    // A loop that is being torn down is not taken over.
    if flags & Flag.main == 0, let loop = Loop.existing, loop.isAlive {
      state.pointee.loop.store(loop.state, ordering: .relaxed)
      loop.state.pointee.thread.store(state.pointee.slot, ordering: .releasing)
    }
    state.pointee.phase.store(Phase.executing, ordering: .releasing)
    try thread.surrender()
    return thread
  }

  // MARK: The thread's loop

  /// The thread's loop, made if there is none yet, held until `Loop.letGo`.
  package func holdLoop() throws(Failure) -> Loop {
    if isMain {
      let loop = try Loop.main()
      try loop.hold(loop.handle.bits, "loop")
      return loop
    }
    let mutex = self.mutex
    mutex.lock()
    defer { mutex.unlock() }
    if phase == Phase.finished { throw Failure(Status.state, "thread", "has finished") }
    let id = kernelID
    let loop = try findOrMakeLoop(threadID: id == 0 ? Loop.futureThread : id)
    loop.state.pointee.reference.retainHeld()
    return loop
  }

  /// The same if the thread of a generation executes, and has its loop; without the thread's lock, and without holding
  /// the thread. The memory of both is never given back; a thread gives its loop up before it ends, so who holds a loop
  /// that is that thread's still has held the right one all the time.
  @inline(__always)
  func holdLoopIfThere(generation: UInt32) -> Loop? {
    guard let known = state.pointee.loop.load(ordering: .acquiring),
      known.pointee.reference.retain(generation: known.pointee.reference.generation)
    else { return nil }
    let loop = Loop(UnsafeMutableRawPointer(known))
    treadle_system_fence_after_exchange()
    if state.pointee.reference.isLive(generation: generation), state.pointee.loop.load(ordering: .acquiring) == known,
      phase == Phase.executing
    {
      return loop
    }
    loop.letGo()
    return nil
  }

  /// The same for calls that are to be carried there: a thread that has finished takes none (PERF-9).
  package func holdLoopForCalls() throws(Failure) -> Loop {
    do throws(Failure) {
      return try holdLoop()
    } catch {
      throw error.status == Status.state ? Failure(Status.closed, "thread", "has finished") : error
    }
  }

  /// The loop for the calling thread, whose object this is.
  func adoptLoop(threadID: Int32) throws(Failure) -> Loop {
    let mutex = self.mutex
    mutex.lock()
    defer { mutex.unlock() }
    let loop = try findOrMakeLoop(threadID: threadID)
    loop.state.pointee.threadID.store(threadID, ordering: .sequentiallyConsistent)
    return loop
  }

  /// The caller holds the lock.
  private func findOrMakeLoop(threadID: Int32) throws(Failure) -> Loop {
    if let known = state.pointee.loop.load(ordering: .acquiring) { return Loop(UnsafeMutableRawPointer(known)) }
    let loop = Loop.ownedByThread(try Loop.create(threadID: threadID))
    if hasFlag(Flag.stopped) { loop.requestStop(allLevels: true) }
    loop.state.pointee.thread.store(state.pointee.slot, ordering: .releasing)
    state.pointee.loop.store(loop.state, ordering: .releasing)
    return loop
  }
}
