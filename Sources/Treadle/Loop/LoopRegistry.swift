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

  /// The calling thread's loop if it has one already.
  @inline(__always)
  package static var existing: Loop? {
    guard let memory = treadle_system_thread().pointee.loop, Runtime.isStarted else { return nil }
    return Loop(memory)
  }

  /// Makes sure that objects can be made at all.
  @inline(__always)
  package static func startRuntime() throws(Failure) {
    if !Runtime.isStarted { try startSlowly() }
  }

  @inline(never)
  private static func startSlowly() throws(Failure) {
    #if !hasFeature(Embedded)
      Metatypes.prepare()
    #endif
    try Runtime.start(threadExit: threadExit)
  }

  @inline(never)
  private static func makeCurrent() throws(Failure) -> Loop {
    try startRuntime()
    let result = treadle_system_watch_thread()
    if result < 0 { throw Failure.system("thread-specific data", result) }
    let id = treadle_system_thread_id()
    let loop =
      if id == treadle_system_process_id() {
        try main()
      } else if let thread = Thread.existing {
        try thread.adoptLoop(threadID: id)
      } else {
        ownedByThread(try create(threadID: id))
      }
    treadle_system_exact_sleeps()
    let thread = treadle_system_thread()
    thread.pointee.loop = UnsafeMutableRawPointer(loop.state)
    return loop
  }

  /// The reference that creation gave becomes the thread's.
  static func ownedByThread(_ loop: Loop) -> Loop {
    _ = loop.state.pointee.reference.surrenderClient(generation: loop.state.pointee.reference.generation)
    return loop
  }

  /// The loop of the process's initial thread (RL-3).
  package static func main() throws(Failure) -> Loop {
    try startRuntime()
    let lock = Lock(treadle_system_start_lock())
    lock.lock()
    defer { lock.unlock() }
    let process = treadle_system_process()
    if let memory = process.pointee.main_loop { return Loop(memory) }
    let loop = ownedByThread(try create(threadID: treadle_system_process_id()))
    if let memory = process.pointee.main_thread {
      loop.state.pointee.thread.store(Thread(memory).state.pointee.slot, ordering: .releasing)
    }
    process.pointee.main_loop = UnsafeMutableRawPointer(loop.state)
    return loop
  }

  /// A client's reference to the loop of the thread with this kernel id (RL-9).
  package static func copy(ofThread id: Int32) throws(Failure) -> Loop {
    if treadle_system_process().pointee.forked != 0 { throw Runtime.forkedFailure }
    var found: Loop?
    if id > 0 {
      Slab(.loop).forEachLive { _, memory in
        let loop = Loop(memory)
        guard loop.threadID == id, loop.retain() == Status.ok else { return true }
        // The thread may have exited, and the slot may serve another, before the reference was taken.
        if loop.threadID == id {
          found = loop
          return false
        }
        try? loop.release()
        return true
      }
    }
    guard let found else { throw Failure(Status.notFound, "thread_id", "is not that of a living thread with a loop") }
    return found
  }

  /// A round of a thread's destructors. The client's own may still ask for the loop in the first, so the
  /// teardown waits for the second (RL-8). A loop that is asked for after that ends in the next round.
  private static let threadExit: @convention(c) () -> Void = {
    let thread = treadle_system_thread()
    let isConcerned =
      thread.pointee.loop != nil || thread.pointee.hosts != 0 || thread.pointee.thread != nil
      || thread.pointee.pools != nil
    guard isConcerned, Runtime.isStarted else { return }
    thread.pointee.rounds &+= 1
    if thread.pointee.rounds < 2 {
      Thread.existing?.announceExit()
      if treadle_system_watch_thread() == 0 { return }
    }
    Thread.leave()
    Host.leaveThread()
  }

  /// Ends a loop whose thread exits (RL-8).
  func tearDown() {
    abandonRuns()
    state.pointee.threadID.store(0, ordering: .sequentiallyConsistent)
    let process = treadle_system_process()
    let start = Lock(treadle_system_start_lock())
    start.lock()
    if process.pointee.main_loop == UnsafeMutableRawPointer(state) { process.pointee.main_loop = nil }
    start.unlock()
    discardRequests()
    removeAllItems()
    discardBlocks()
    discardRequests()
    closeSleep()
    drop()
  }
}
