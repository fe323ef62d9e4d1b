// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Which thread has which loop: made on first use, torn down when the thread exits (RL-1 to RL-3).
extension Loop {
  /// The calling thread's loop.
  @inline(__always)
  package static func current() throws(Failure) -> Loop {
    if let memory = treadle_system_thread().pointee.loop, Runtime.isStarted { return Loop(memory) }
    return try makeCurrent()
  }

  @inline(never)
  private static func makeCurrent() throws(Failure) -> Loop {
    let id = try Runtime.watchThread()
    let loop =
      if id == treadle_system_process_id() {
        try main()
      } else if let thread = Thread.existing {
        try thread.adoptLoop(threadID: id)
      } else {
        try create(threadID: id)
      }
    let thread = treadle_system_thread()
    thread.pointee.loop = UnsafeMutableRawPointer(loop.address)
    loop.state.loopLock.beginBias()
    return loop
  }

  /// The loop of the process's initial thread (RL-3).
  package static func main() throws(Failure) -> Loop { try withMain { $0 } }

  /// The loop of the process's initial thread, held until `letGo`.
  package static func holdMain() throws(Failure) -> Loop {
    try withMain { loop in
      loop.holdAgain()
      return loop
    }
  }

  /// The same if there is one.
  static func holdExistingMain() -> Loop? {
    let lock = Mutex.at(treadle_system_start_lock())
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    guard let memory = treadle_system_process().pointee.main_loop else { return nil }
    let loop = Loop(memory)
    loop.holdAgain()
    return loop
  }

  /// Calls `body` with the name that the client has given to the loop's thread. False if there is none. No lock of the
  /// thread's is held by the caller.
  package func withThreadName(_ body: (UnsafePointer<CChar>) -> Void) -> Bool {
    guard let thread = holdThread() else { return false }
    defer { thread.dropLook() }
    var isNamed = false
    if isServed(by: thread) {
      thread.withName { name in
        guard let name else { return }
        isNamed = true
        body(name)
      }
    }
    return isNamed
  }

  /// A client's reference to the object of the loop's thread. The calling thread and the initial one get theirs now, as
  /// they do when they are asked for.
  @_optimize(size)
  package func copyThread() throws(Failure) -> Handle {
    let known = holdThread()
    defer { known?.drop() }
    let id = threadID
    var thread = known
    if isCurrent {
      thread = try Thread.current()
    } else if id == treadle_system_process_id() {
      thread = try Thread.main()
    } else if let known, !isServed(by: known) {
      thread = nil
    }
    guard let thread, isCurrent || !thread.isFinished else {
      // One that has the loop no longer is about to end.
      let isOver = known != nil || id == 0
      throw Failure(
        Status.notFound, "loop's thread",
        isOver ? "has finished" : "was not started by Treadle, and has not asked for its object")
    }
    try Slab(.thread).retainForClient(thread.handle.bits, "loop's thread")
    return thread.handle
  }

  /// The thread that was the loop's last, held; nil while it has no object, and after its end.
  private func holdThread() -> Thread? {
    // Both relaxed: the hold acquires what the thread is, and its loop is only compared.
    let slot = state.thread.load(ordering: .relaxed)
    guard let thread = Thread(slot: slot), thread.state.reference.hold(thread.state.reference.generation) else {
      return nil
    }
    return thread
  }

  /// Whether a held thread still has the loop: its slot may serve another thread since.
  private func isServed(by thread: Thread) -> Bool {
    thread.state.loop.load(ordering: .relaxed) == address || thread.isMain
  }

  /// Runs `body` with it while it is certain to live.
  private static func withMain(_ body: (Loop) -> Loop) throws(Failure) -> Loop {
    try Runtime.start()
    let lock = Mutex.at(treadle_system_start_lock())
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    return body(try findOrMakeMain())
  }

  private static func findOrMakeMain() throws(Failure) -> Loop {
    let process = treadle_system_process()
    if let memory = process.pointee.main_loop, !Thread.isMainUnseenOver { return Loop(memory) }
    if Thread.isMainUnseenOver || process.pointee.main_thread.map({ Thread($0).isFinished }) == true {
      throw Failure(Status.state, "thread", "has finished")
    }
    let loop = try create(threadID: treadle_system_process_id())
    if let memory = process.pointee.main_thread {
      loop.state.thread.store(Thread(memory).state.slot, ordering: .relaxed)
    }
    process.pointee.main_loop = UnsafeMutableRawPointer(loop.address)
    return loop
  }

  /// A client's reference to the loop of the thread with this kernel id (RL-9).
  @_optimize(size)
  package static func copy(ofThread id: Int32) throws(Failure) -> Loop {
    if treadle_system_is_forked() { throw Runtime.forkedFailure }
    var found: Loop?
    var failure: Failure?
    if id > 0 {
      Slab(.loop).forEachLive { slot, memory in
        let loop = Loop(memory)
        let handle = Handle(kind: .loop, slot: slot, generation: loop.state.reference.generation).bits
        if loop.threadID != id { return true }
        do throws(Failure) {
          try Slab(.loop).retainForClient(handle, "loop of thread_id")
        } catch {
          // One that is gone is not that of a living thread.
          if error.status == Status.range { failure = error }
          return failure == nil
        }
        // The thread may have exited, and the slot may serve another, before the reference was taken.
        if loop.threadID == id {
          found = loop
          return false
        }
        try? Loop.release(handle)
        return true
      }
    }
    if let failure { throw failure }
    guard let found else { throw Failure(Status.notFound, "thread_id", "is not that of a living thread with a loop") }
    return found
  }

  // MARK: Whose it is

  /// Whether the loop is the calling thread's. Somebody else may have made it for that, which has not asked for it yet.
  package var belongsToCaller: Bool {
    if isCurrent { return true }
    let thread = Thread.existing
    // Compared only: the caller knows the loop.
    let isPromised = thread?.state.loop.load(ordering: .relaxed) == address
    if !isPromised && threadID != (thread?.knownID ?? treadle_system_thread_id()) { return false }
    return (try? Loop.current())?.address == address
  }
}
