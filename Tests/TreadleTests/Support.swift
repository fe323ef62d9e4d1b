// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

@_exported import TestSupport
import Treadle

/// What `body` is refused for; nil if it is not, or for an error of another type.
func status(_ body: () throws -> Void) -> TreadleError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? TreadleError)?.code
  }
}

/// Runs `body` on a new thread of Treadle's until it has ended; throws what it throws.
func onThread(_ body: @escaping @Sendable () throws -> Void) throws {
  let outcome = Outcome()
  let thread = try RunLoopThread {
    do { try body() } catch { outcome.error = error }
  }
  try thread.start()
  try thread.join(timeout: patience)
  if let error = outcome.error { throw error }
}

/// Written by one thread, read after a join by another.
private final class Outcome: @unchecked Sendable {
  var error: (any Error)?
}

/// A thread that runs its loop while `body` is called.
func withLoopThread(_ body: (RunLoopThread) throws -> Void) throws {
  let thread = try RunLoopThread {
    let loop = try RunLoop.current()
    let keeper = try RunLoopSource { _ in }
    try loop.add(keeper)
    try loop.run()
    keeper.invalidate()
  }
  try thread.startAndWait(timeout: patience)
  do { try body(thread) } catch {
    try? thread.stopAndJoin(timeout: patience)
    throw error
  }
  try thread.stopAndJoin(timeout: patience)
}
