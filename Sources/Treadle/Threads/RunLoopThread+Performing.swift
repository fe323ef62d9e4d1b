// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// What a thread is asked to perform; the target of a request.
private final class Performed: @unchecked Sendable {
  private let body: @Sendable () throws -> Void
  /// Somebody waits, and gets the error.
  private let isAwaited: Bool
  /// Written by the thread that performs, read after it by the one that waits.
  private(set) var error: (any Error)?

  init(_ body: @escaping @Sendable () throws -> Void, isAwaited: Bool) {
    self.body = body
    self.isAwaited = isAwaited
  }

  /// Nothing leaves the callback (PERF-11).
  private func perform() {
    do { try body() } catch {
      if isAwaited { self.error = error } else { RunLoopLastResort.report(error) }
    }
  }

  /// A request that holds this object, and gives it back also if it is refused.
  func makeRequest(flags: Int) -> treadle_request {
    var request = treadle_request()
    request.struct_size = MemoryLayout<treadle_request>.size
    request.fn = { target, _ in
      if let target { Unmanaged<Performed>.fromOpaque(target).takeUnretainedValue().perform() }
    }
    request.target = Unmanaged.passRetained(self).toOpaque()
    request.release_target = releaseBody
    request.flags = UInt32(truncatingIfNeeded: flags)
    return request
  }
}

/// Having a thread perform something (PERF-1 to PERF-11, PERF-17).
extension RunLoopThread {
  /// Has the thread perform a body, in a pass of its loop in one of the modes, and wakes it. Bodies are performed in
  /// their order, all that are eligible in one pass; those that a body asks for wait for the next pass. A thread
  /// that has not started, or does not run its loop yet, performs them when it does (PERF-1 to PERF-6). Any thread.
  /// - Parameters:
  ///   - modes: nil: the common modes. With an empty list nothing is performed, nor waited for.
  ///   - waitUntilDone: return when the body has returned; the caller's own loop is not run meanwhile (PERF-7). On
  ///     the thread itself the body is called directly (PERF-2).
  ///   - body: released when it was performed, or never will be (PERF-8).
  /// - Returns: false for an empty list of modes.
  /// - Throws: the body's own error, when it is waited for; otherwise that goes to the last-resort handler (PERF-11).
  ///   `TreadleError` when the thread has finished, or ends before it has performed the body (PERF-9); when it waits,
  ///   directly or through others, for the caller; after `RunLoop.shutDown`; when out of memory. Since 1.0.
  @discardableResult
  public func perform(
    in modes: [RunLoopMode]? = nil, waitUntilDone: Bool = false, _ body: @escaping @Sendable () throws -> Void
  ) throws -> Bool {
    let performed = Performed(body, isAwaited: waitUntilDone)
    var request = performed.makeRequest(flags: waitUntilDone ? TREADLE_PERFORM_WAIT : 0)
    let on = UnsafeMutableRawPointer(handle)
    let status: treadle_status
    if let modes {
      status = RunLoopMode.withNames(modes) { names, count in
        request.modes = names
        request.mode_count = count
        return treadle_perform(on, &request)
      }
    } else {
      status = treadle_perform(on, &request)
    }
    if try check(status) == TREADLE_IGNORED { return false }
    if waitUntilDone, let error = performed.error { throw error }
    return true
  }

  /// `perform` on the process's initial thread (PERF-10). Any thread.
  /// - Throws: as `perform`. Since 1.0.
  @discardableResult
  public static func performOnMain(
    in modes: [RunLoopMode]? = nil, waitUntilDone: Bool = false, _ body: @escaping @Sendable () throws -> Void
  ) throws -> Bool {
    try main().perform(in: modes, waitUntilDone: waitUntilDone, body)
  }

  /// Performs a body on a new detached thread with the default attributes (PERF-17). Any thread.
  /// - Parameter body: an error that it throws goes to the last-resort handler (PERF-11).
  /// - Throws: as `detachNew`. Since 1.0.
  public static func performInBackground(_ body: @escaping @Sendable () throws -> Void) throws(TreadleError) {
    var request = Performed(body, isAwaited: false).makeRequest(flags: TREADLE_PERFORM_IN_BACKGROUND)
    try check(treadle_perform(nil, &request))
  }
}
