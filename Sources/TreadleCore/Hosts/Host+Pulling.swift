// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Hosts that fetch their events in place of being called (`Pulling.swift`).
extension Host {
  /// Begins a run of the calling thread's loop in which this host's events are handed out, in `number`; with 0 there it
  /// is over at once, by this result.
  package func beginPull(
    _ loop: Loop, _ name: ModeName?, timeout: Int64, flags: UInt32, _ number: inout UInt64
  ) throws(Failure) -> Int32 {
    if isClosed { throw Failure(Status.closed, "host", "is quiet: it receives no more events") }
    guard loop.belongsToCaller else { throw Loop.runsElsewhere }
    let closed = withUnsafePointer(to: state.closed) { $0 }
    let ticket = Host.nextTicket()
    var result = Status.ok
    let isBegun = try loop.beginPull(
      FrameHost(object: pointer, closed: closed, letGo: { Host($0).letGo() }), ticket, name, timeout: timeout,
      flags: flags, &result)
    // The run's, until its frame is given back.
    if isBegun { holdAgain() }
    number = isBegun ? ticket : 0
    return result
  }

  /// For a dispatch function: hands out what comes next, if the calling thread's innermost callback is an event of this
  /// host's that is performed or posted, and the run would tell the host of another such one next, with nothing in
  /// between (ABI-11).
  package func next(_ loop: Loop, failed: Int, _ room: inout EventRoom) throws(Failure) {
    guard let call = treadle_system_thread().pointee.host_call?.assumingMemoryBound(to: Call.self),
      call.pointee.host == pointer,
      let frame = call.pointee.frame, let memory = call.pointee.event, loop.isCurrent, !loop.isOfParent,
      loop.frame == frame, !isClosed
    else { return try refuseFailed(failed) }
    let kind = memory.assumingMemoryBound(to: Event.self).pointee.kind
    // Not from inside of an event that is none of the run's own, such as the call of a closure: the run's goes on
    // around it.
    guard kind == Event.Kind.perform || kind == Event.Kind.block else { return try refuseFailed(failed) }
    try loop.handOutMore(frame, to: pointer, failed: failed, &room)
  }

  private func refuseFailed(_ failed: Int) throws(Failure) {
    if failed != 0 {
      throw Failure(Status.argument, "failed", "is not the number of an event that the last call returned")
    }
  }
}
