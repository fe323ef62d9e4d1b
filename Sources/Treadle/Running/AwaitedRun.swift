// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Running a loop in the call mode while its thread waits for a call that another makes.
///
/// Such a run ends when the call is over, and not before: neither does the mode have to contain anything,
/// nor does it heed stops. Those are for the client's run around it, and are still there when that goes on.
extension Loop {
  /// The mode of `TREADLE_CALL_MODE` in the C header.
  static var callModeName: ModeName { ModeName(treadle_system_call_mode_name()) }

  func findOrMakeCallMode() throws(Failure) -> Mode {
    if let mode = Mode(slot: state.pointee.callMode.load(ordering: .acquiring)) { return mode }
    return try withLock { () throws(Failure) in try findOrMakeUnlistedMode(Loop.callModeName) }
  }

  /// Makes what `run(until:)` needs, which cannot fail then for want of memory.
  func prepareAwaitedRun() throws(Failure) {
    _ = try findOrMakeCallMode()
    if state.pointee.spareFrames == nil { state.pointee.spareFrames = try Loop.allocateFrame() }
  }

  /// Runs until the call is over, the deadline has passed, or everything was shut down. The thread is the loop's.
  func run(until call: CarriedCall, deadline: Int64) {
    var hasFailed = false
    while call.isAwaited && (deadline == Clock.forever || Clock.now() < deadline) {
      do throws(Failure) {
        let frame = try push(try findOrMakeCallMode(), timeout: Clock.forever, flags: 0)
        frame.pointee.awaited = call
        frame.pointee.deadline = deadline
        _ = try run(frame)
      } catch {
        switch error.status {
        case Status.callback: hasFailed = true
        case Status.closed: break
        default:
          // The kernel refuses to wait for the mode's descriptors: better to wait without them.
          call.block(until: deadline)
        }
      }
    }
    // A host's callback did not complete: that ends the client's run, as it would have without this one.
    if hasFailed { failRun() }
  }
}
