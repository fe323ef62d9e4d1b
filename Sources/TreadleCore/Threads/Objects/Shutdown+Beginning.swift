// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// The end of all loops (THR-21).
extension Shutdown {
  package static func begin(timeout: Int64) throws(Failure) -> Int32 {
    if treadle_system_is_forked() { throw Runtime.forkedFailure }
    let isFirst = close()
    Item.endWaitsForRoom()
    let until = Clock.after(timeout, from: Clock.now())
    var hasWaited = false
    while true {
      let seen = Rest.epoch
      // Each time around, since a loop may have been made, or a request queued, in the meantime.
      if !stopLoops() && ClientCall.countElsewhere == 0 { return isFirst || hasWaited ? Status.ok : Status.ignored }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while callbacks were running")
      }
      hasWaited = true
      if until == Clock.forever { try awaitCallbacks(seen) } else { Rest.wait(seen, until: until) }
    }
  }

  /// Without a limit: refused where a callback waits for the calling thread. A host that looks now and then, as at the
  /// end of a scope, looks once more, and finds everything closed.
  private static func awaitCallbacks(_ seen: UInt32) throws(Failure) {
    let callbacks = RestTarget(word: 0) { _, stack in ThreadStack.at(stack).hasCallback }
    try callbacks.wait(seen, until: Clock.forever, ofScope: true)
  }

  /// Whether it was open. From here on whatever begins on another thread finds it closed, or is found.
  private static func close() -> Bool {
    let lock = Mutex.at(treadle_system_start_lock())
    lock.pointee.lock(.process)
    let isFirst = treadle_system_close_process()
    lock.pointee.unlock(.process)
    // Where the kernel has no barriers, this is a fence on this thread alone: the others' are where runs and waits
    // begin.
    if treadle_system_barrier() < 0 { treadle_system_fence() }
    return isFirst
  }

  /// Has every loop leave its runs, and lets go who waits for one; whether any other than the caller's is inside a run.
  private static func stopLoops() -> Bool {
    var isAnyRunning = false
    Slab(.loop).forEachLive { slot, memory in
      let loop = Loop(memory)
      guard loop.state.reference.hold(loop.state.reference.generation) else { return true }
      loop.requestStop(allLevels: true)
      loop.discardJobs()
      // A run that has begun is seen behind the barrier, and of one that is over all that it did.
      if !loop.isCurrent && loop.state.depth.load(ordering: .acquiring) != 0 {
        isAnyRunning = true
      }
      loop.letGo()
      return true
    }
    return isAnyRunning
  }
}
