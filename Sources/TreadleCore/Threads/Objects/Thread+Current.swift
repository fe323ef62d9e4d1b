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
    let id = try Runtime.watchThread()
    let thread = id == treadle_system_process_id() ? try main() : try adopted(id)
    thread.state.pthread.store(treadle_system_thread_self(), ordering: .relaxed)
    treadle_system_thread().pointee.thread = UnsafeMutableRawPointer(thread.address)
    return thread
  }

  /// The calling thread's handle, which stays the same until the last of its destructors is over.
  package static func currentHandle() throws(Failure) -> Handle {
    let left = Handle(bits: treadle_system_thread().pointee.left)
    return left.bits > 1 && Runtime.isStarted ? left : try current().handle
  }

  /// The calling thread had no object when its teardown came, and gets none any more.
  package static var isGoneUnknown: Bool { treadle_system_thread().pointee.left == 1 }

  /// The calling thread's object if it has one already.
  package static var existing: Thread? {
    guard let memory = treadle_system_thread().pointee.thread, Runtime.isStarted else { return nil }
    return Thread(memory)
  }

  package static var isMainCalling: Bool { treadle_system_thread_id() == treadle_system_process_id() }

  /// The object of the process's initial thread.
  package static func main() throws(Failure) -> Thread {
    try Runtime.start()
    let lock = Mutex.at(treadle_system_start_lock())
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    let process = treadle_system_process()
    if process.pointee.main_thread == nil {
      let thread = try adopted(treadle_system_process_id(), flags: Flag.main)
      process.pointee.main_thread = UnsafeMutableRawPointer(thread.address)
      if let memory = process.pointee.main_loop {
        Loop(memory).state.thread.store(thread.state.slot, ordering: .relaxed)
      }
    }
    guard let memory = process.pointee.main_thread else { throw Failure.noMemory("thread") }
    if isMainUnseenOver { Thread(memory).state.phase.store(Phase.finished, ordering: .releasing) }
    return Thread(memory)
  }

  /// Whether the process's initial thread has ended without having called the library ever, so that only the kernel
  /// knows.
  static var isMainUnseenOver: Bool {
    !treadle_system_main_is_known() && treadle_system_main_thread_is_over()
  }

  /// An object for a thread that executes already; its reference is the thread's.
  private static func adopted(_ id: Int32, flags: UInt32 = 0) throws(Failure) -> Thread {
    let thread = try make(ThreadEntry(code: nil, info: nil, destroy: nil), flags: flags | Flag.foreign)
    thread.state.joining = Joining.detached
    thread.state.stackSize = 0
    thread.state.kernelID.store(id, ordering: .relaxed)
    // A loop that is being torn down is not taken over.
    if flags & Flag.main == 0, let loop = Loop.existing, loop.isAlive {
      thread.state.loop.store(loop.address, ordering: .relaxed)
      loop.state.thread.store(thread.state.slot, ordering: .relaxed)
    }
    // Relaxed: the beginning of the life releases.
    thread.state.phase.store(Phase.executing, ordering: .relaxed)
    thread.state.reference.begin(forClient: false)
    return thread
  }

  // MARK: The thread's loop

  /// The thread's loop, made if there is none yet, held until `Loop.letGo`.
  package func holdLoop() throws(Failure) -> Loop {
    if isMain {
      return try Loop.holdMain()
    }
    lock()
    defer { unlock() }
    if phase == Phase.finished { throw Failure(Status.state, "thread", "has finished") }
    let id = kernelID
    let loop = try findOrMakeLoop(threadID: id == 0 ? Loop.futureThread : id)
    loop.holdAgain()
    return loop
  }

  /// The thread's loop, held, for calls that are to be carried there: a thread that has finished takes none (PERF-9).
  package func holdLoopForCalls() throws(Failure) -> Loop {
    do throws(Failure) {
      return try holdLoop()
    } catch {
      throw error.status == Status.state ? Failure(Status.closed, "thread", "has finished") : error
    }
  }

  /// The thread's loop if it has one, held until `Loop.letGo`.
  package func holdExistingLoop() -> Loop? {
    if isMain { return Loop.holdExistingMain() }
    lock()
    defer { unlock() }
    guard let known = state.loop.load(ordering: .relaxed) else { return nil }
    let loop = Loop(UnsafeMutableRawPointer(known))
    loop.holdAgain()
    return loop
  }

  /// The loop for the calling thread, whose object this is.
  func adoptLoop(threadID: Int32) throws(Failure) -> Loop {
    lock()
    defer { unlock() }
    let loop = try findOrMakeLoop(threadID: threadID)
    // Releases, as in `Loop.create`: a reader of the id sees the generation.
    loop.state.threadID.store(threadID, ordering: .releasing)
    return loop
  }

  /// The thread has a loop no longer: the caller tears it down.
  @discardableResult
  func giveUpLoop() -> Loop? {
    lock()
    defer { unlock() }
    return state.loop.exchange(nil, ordering: .relaxed).map { Loop(UnsafeMutableRawPointer($0)) }
  }

  /// The caller holds the lock.
  private func findOrMakeLoop(threadID: Int32) throws(Failure) -> Loop {
    if let known = state.loop.load(ordering: .relaxed) { return Loop(UnsafeMutableRawPointer(known)) }
    let loop = try Loop.create(threadID: threadID)
    if hasFlag(Flag.stopped) { loop.requestStop(allLevels: true) }
    loop.state.thread.store(state.slot, ordering: .relaxed)
    state.loop.store(loop.address, ordering: .relaxed)
    return loop
  }
}

extension LastResort {
  /// Reports an error of the calling thread.
  package static func report(_ kind: StaticString, _ message: StaticString) {
    let thread = (try? Thread.current().handle) ?? Handle(bits: 0)
    _ = report(thread, kind.cText, message.cText)
  }
}
