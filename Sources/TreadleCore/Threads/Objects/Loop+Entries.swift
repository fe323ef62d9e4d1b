// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// The ways into a loop, for its own thread alone: a run, and what a loop that another one dispatches is asked.
extension Loop {
  /// What other threads get (`runsElsewhere` for a run).
  private static var isDispatchedElsewhere: Failure {
    Failure(Status.wrongThread, "loop", "belongs to another thread: a loop is dispatched only on its own thread")
  }

  /// Runs the calling thread's loop in one mode until a result (RUN-1).
  package func run(
    _ name: ModeName?, timeout: Int64, flags: UInt32, interrupt: IndirectCallback? = nil
  ) throws(Failure) -> Int32 {
    guard belongsToCaller else { throw Loop.runsElsewhere }
    return try runOwn(name, timeout: timeout, flags: flags, interrupt: interrupt)
  }

  /// A descriptor, for the caller to close, by which another loop waits for the calling thread's in one mode.
  package func openPollable(_ name: ModeName) throws(Failure) -> Int32 {
    guard belongsToCaller else { throw Loop.isDispatchedElsewhere }
    return try openOwnPollable(name)
  }

  /// A slice of the calling thread's loop in one mode, for another loop: `Status.ok` while there is more to do.
  package func dispatch(_ name: ModeName, time: Int64, items: Int) throws(Failure) -> Int32 {
    guard belongsToCaller else { throw Loop.isDispatchedElsewhere }
    try demandNoCommonMode(name)
    return try dispatchOwn(name, time: time, items: items)
  }

  /// When that has something to do.
  package func prepare(_ name: ModeName) throws(Failure) -> Int64 {
    guard belongsToCaller else { throw Loop.isDispatchedElsewhere }
    try demandNoCommonMode(name)
    return try prepareOwn(name)
  }
}
