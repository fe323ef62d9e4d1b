// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// The end of a thread (THR-5, THR-7, THR-8, THR-14): the notification first, on the thread and outside of
/// its destructors where we can; the rest in the destructors, after the client's own.
extension Thread {
  package func cancel() { setFlag(Flag.cancelled) }

  /// Cancels, and stops the loop at all levels, also one that is made later (THR-18).
  package func stop(atOnce: Bool = false) {
    setFlag(Flag.cancelled)
    if isMain {
      if let loop = try? Loop.holdMain() {
        loop.requestStop(allLevels: true, atOnce: atOnce)
        loop.letGo()
      }
      return
    }
    lock()
    setFlag(Flag.stopped)
    if let loop = state.loop.load(ordering: .relaxed) {
      Loop(UnsafeMutableRawPointer(loop)).requestStop(allLevels: true, atOnce: atOnce)
    }
    unlock()
  }

  /// The same, by the flags of the C interface.
  package func requestStop(flags: UInt32) throws(Failure) {
    try StopFlag.check(flags)
    stop(atOnce: flags & StopFlag.atOnce != 0)
  }

  /// Ends the calling thread; returns only to refuse.
  package static func exit(_ result: UnsafeMutableRawPointer?) throws(Failure) {
    try Runtime.start()
    guard let thread = existing, !thread.hasFlag(Flag.foreign) else {
      if treadle_system_thread_id() == treadle_system_process_id() {
        throw Failure(Status.state, "thread", "is the main thread, which this call cannot end")
      }
      throw Failure(Status.state, "thread", "was not started by Treadle")
    }
    thread.state.result = result
    let entry = thread.state.entry
    thread.state.entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    entry.dispose()
    thread.announceExit()
    treadle_system_thread_exit()
  }

  /// Puts the calling thread to sleep; signals do not cut it short (THR-15).
  package static func sleep(until time: Int64) throws(Failure) {
    try Runtime.start()
    if time > Clock.now() { treadle_system_sleep_until(time) }
  }

  /// Posts the notification, once.
  func announceExit() {
    if setFlag(Flag.announced) & Flag.announced != 0 { return }
    Notifications.post(Notifications.threadWillExit, object: handle.bits)
  }

  /// The last thing that happens on a thread that has an object, or a loop, or pools.
  static func leave() {
    let thread = treadle_system_thread()
    Scope.leaveAll()
    if existing == nil && isMainCalling {
      // By its object the initial thread's end is known, which nobody is told of one that had none.
      let isNew = treadle_system_process().pointee.main_thread == nil
      if let main = try? current(), isNew { main.setFlag(Flag.announced) }
    }
    endAll()
    // What clients' functions have made meanwhile ends as well; nothing more is made for the thread.
    if thread.pointee.left == 0 { thread.pointee.left = existing?.handle.bits ?? 1 }
    endAll()
    guard let object = existing else { return }
    thread.pointee.thread = nil
    object.state.gone.end()
    // The initial thread's stays for those who ask for it.
    if !object.isMain { object.drop() }
  }

  @_optimize(size)
  private static func endAll() {
    existing?.announceExit()
    existing?.finish()
    Pool.end()
    existing?.releaseValues()
    guard let memory = treadle_system_thread().pointee.loop else { return }
    // Also that of an object which was made since: a loop is torn down once.
    existing?.giveUpLoop()
    Loop(memory).tearDown()
    treadle_system_thread().pointee.loop = nil
  }

  /// The thread has finished for all who ask; its loop, if it never asked for it, becomes its own for the teardown.
  @_optimize(size)
  private func finish() {
    lock()
    state.phase.store(Phase.finished, ordering: .releasing)
    state.kernelID.store(0, ordering: .relaxed)
    unlock()
    let loop = giveUpLoop()
    // A thread that left its function by pthread_exit.
    let entry = state.entry
    state.entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    entry.dispose()
    tellReadiness(Loop.existing?.foundNothing == true ? Readiness.endedIdle : Readiness.ended)
    if let loop { treadle_system_thread().pointee.loop = UnsafeMutableRawPointer(loop.address) }
  }
}

/// A round of a thread's destructors. The client's own may still ask for the loop in the first, so the teardown waits
/// for the second (RL-8). Those that come after it meet the thread that it was, and get nothing new.
@_cdecl("libtreadle_thread_exits")
public func threadExits() {
  let thread = treadle_system_thread()
  Trace.endThread()
  guard Runtime.isStarted else { return }
  // No client's function is on the stack any more.
  ClientCall.endAll()
  thread.pointee.client_frame = nil
  treadle_system_forget_calls()
  Item.abandonFiredByHand()
  if thread.pointee.is_ending_scopes {
    // An object may have lost the last of our references meanwhile, and this thread did not look.
    thread.pointee.is_ending_scopes = false
    Rest.announce()
  }
  if thread.pointee.ending_message != 0 { Message.endAbandoned() }
  let isConcerned =
    thread.pointee.loop != nil || thread.pointee.hosts != 0 || thread.pointee.thread != nil
    || thread.pointee.pools != nil
    || thread.pointee.scope != nil || thread.pointee.finishing != 0
  LastError.forget()
  if !isConcerned { return }
  if !thread.pointee.is_ending {
    thread.pointee.is_ending = true
    Thread.existing?.announceExit()
    if treadle_system_watch_thread() == 0 { return }
  }
  Thread.leave()
  if let leaveHosts = thread.pointee.leave_hosts { leaveHosts() }
}

extension Loop {
  /// Ends a loop whose thread exits (RL-8).
  @_optimize(size)
  func tearDown() {
    abandonRuns()
    state.loopLock.endBias()
    // Relaxed: adding and queueing test it under the loop's lock or gate, and both are taken below before the last
    // look.
    state.threadID.store(0, ordering: .relaxed)
    let process = treadle_system_process()
    let start = Mutex.at(treadle_system_start_lock())
    start.pointee.lock(.process)
    if process.pointee.main_loop == UnsafeMutableRawPointer(address) { process.pointee.main_loop = nil }
    start.pointee.unlock(.process)
    discardJobs()
    removeAllItems()
    discardBlocks()
    discardJobs()
    closeSleep()
    OwnSlots.passOn(loop: UnsafeMutableRawPointer(address))
    drop()
  }
}
