// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// The end of all loops (THR-21).
extension Shutdown {
  package static func begin(timeout: Int64) throws(Failure) -> Int32 {
    if treadle_system_process().pointee.forked != 0 { throw Runtime.forkedFailure }
    let isFirst = treadle_system_close_process()
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
      Rest.wait(seen, until: until)
    }
  }

  /// Has every loop leave its runs, and lets go who waits for one; whether any other than the caller's is
  /// inside a run.
  private static func stopLoops() -> Bool {
    var isAnyRunning = false
    Slab(.loop).forEachLive { slot, memory in
      let loop = Loop(memory)
      guard loop.state.pointee.reference.hold(loop.state.pointee.reference.generation) else { return true }
      loop.requestStop(allLevels: true)
      loop.discardJobs()
      if !loop.isCurrent && loop.state.pointee.depth.load(ordering: .sequentiallyConsistent) != 0 {
        isAnyRunning = true
      }
      loop.letGo()
      return true
    }
    return isAnyRunning
  }
}
