// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// Having a thread perform something (PERF-1 to PERF-11, PERF-17).
  extension RunLoopThread {
    /// Has the thread perform a body, in a pass of its loop in one of the modes, and wakes it. Bodies are performed in
    /// their order, all that are eligible in one pass; those that a body asks for wait for the next pass. A thread
    /// that has not started, or does not run its loop yet, performs them when it does (PERF-1 to PERF-6). [any]
    /// - Parameters:
    ///   - modes: with an empty list nothing is performed, nor waited for.
    ///   - waitUntilDone: return when the body has returned; the caller's own loop is not run meanwhile (PERF-7). On
    ///     the thread itself the body is called directly (PERF-2).
    ///   - body: released when it was performed, or never will be (PERF-8).
    /// - Returns: false for an empty list of modes.
    /// - Throws: the body's own error, when it is waited for; otherwise that goes to the last-resort handler (PERF-11).
    ///   `Failure` when the thread has finished, or ends before it has performed the body (PERF-9); when it waits,
    ///   directly or through others, for the caller; after `RunLoop.shutDown`; when out of memory. Since 1.0.
    @discardableResult
    public func perform(
      in modes: [RunLoopMode] = [.common], waitUntilDone: Bool = false, _ body: @escaping @Sendable () throws -> Void
    ) throws -> Bool {
      let performed = PerformedBody(body, isAwaited: waitUntilDone)
      let result = try request(performed.makeRequest(), in: modes, wait: waitUntilDone)
      switch result {
      case Status.ok: break
      case Status.ignored: return false
      case Status.deadlock: throw Failure(result, "thread", "waits for the calling one")
      default: throw Failure(result, "thread", "has ended, or everything was shut down")
      }
      if waitUntilDone, let error = performed.error { throw error }
      return true
    }

    /// `perform` on the process's initial thread (PERF-10). [any]
    /// - Throws: as `perform`. Since 1.0.
    @discardableResult
    public static func performOnMain(
      in modes: [RunLoopMode] = [.common], waitUntilDone: Bool = false, _ body: @escaping @Sendable () throws -> Void
    ) throws -> Bool {
      try main().perform(in: modes, waitUntilDone: waitUntilDone, body)
    }

    /// Performs a body on a new detached thread with the default attributes (PERF-17). [any]
    /// - Parameter body: an error that it throws goes to the last-resort handler (PERF-11).
    /// - Throws: as `detachNew`. Since 1.0.
    public static func performInBackground(_ body: @escaping @Sendable () throws -> Void) throws(Failure) {
      let request = PerformedBody(body, isAwaited: false).makeRequest()
      do throws(Failure) {
        try Thread.release(Thread.performInBackground(request).handle.bits)
      } catch {
        request.dispose()
        throw error
      }
    }

    /// What became of a request, which is over when this throws.
    private func request(_ request: Request, in modes: [RunLoopMode], wait: Bool) throws(Failure) -> Int32 {
      do throws(Failure) {
        // The same as no list, without a search for the mode.
        if modes == [.common] { return try thread.perform(request, modes: nil, wait: wait) }
        return try RunLoopMode.withNames(modes) { names throws(Failure) in
          try thread.perform(request, modes: names, wait: wait)
        }
      } catch {
        request.dispose()
        throw error
      }
    }
  }
#endif
