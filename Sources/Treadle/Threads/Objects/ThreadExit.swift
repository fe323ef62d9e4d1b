// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A round of a thread's destructors. The client's own may still ask for the loop in the first, so the teardown waits for the
/// second (RL-8). A loop that is asked for after that ends in the next round.
@_cdecl("libtreadle_thread_exits")
public func threadExits() {
  let thread = treadle_system_thread()
  let isConcerned =
    thread.pointee.loop != nil || thread.pointee.hosts != 0 || thread.pointee.thread != nil || thread.pointee.pools != nil
  guard isConcerned, Runtime.isStarted else { return }
  thread.pointee.rounds &+= 1
  if thread.pointee.rounds < 2 {
    Thread.existing?.announceExit()
    if treadle_system_watch_thread() == 0 { return }
  }
  Thread.leave()
  if let leaveHosts = thread.pointee.leave_hosts { leaveHosts() }
}

extension Loop {
  /// Ends a loop whose thread exits (RL-8).
  func tearDown() {
    abandonRuns()
    state.pointee.threadID.store(0, ordering: .sequentiallyConsistent)
    let process = treadle_system_process()
    let start = Mutex.at(treadle_system_start_lock())
    start.pointee.lock(.process)
    if process.pointee.main_loop == UnsafeMutableRawPointer(state) { process.pointee.main_loop = nil }
    start.pointee.unlock(.process)
    discardJobs()
    removeAllItems()
    discardBlocks()
    discardJobs()
    closeSleep()
    drop()
  }
}
