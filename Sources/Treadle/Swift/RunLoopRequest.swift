// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A body that a loop performs later (PERF-12). May be dropped: the loop keeps it for as long as it waits. Since 1.0.
  public final class RunLoopRequest: @unchecked Sendable {
    // Both are nil when it was performed or never will be: so nothing is kept by who keeps this. Touched on the
    // loop's thread alone.
    private var body: (@Sendable () throws -> Void)?
    private var target: AnyObject?
    /// The target's identity, or this object's own. Constant; the target itself is kept while it is looked for.
    private var identity: UnsafeMutableRawPointer?

    private init(_ body: @escaping @Sendable () throws -> Void, target: AnyObject?) {
      self.body = body
      self.target = target
      identity = RunLoopRequest.identity(of: target ?? self)
    }

    /// Cancels the request: its body is released, and not performed any more (PERF-15). Works on the thread that
    /// made it; on another one, nothing happens. [owner]
    /// - Returns: whether it was waiting. Since 1.0.
    @discardableResult
    public func cancel() -> Bool { (try? DelayedRequest.cancel(description)) == Status.ok }

    /// What tells this request from others. Holds nothing.
    private var description: Request {
      Request(function: RunLoopRequest.function, target: identity, argument: RunLoopRequest.identity(of: self))
    }

    private static func identity(of object: AnyObject) -> UnsafeMutableRawPointer {
      Unmanaged.passUnretained(object).toOpaque()
    }

    /// Makes a request of the calling thread's loop. nil for an empty list of modes.
    fileprivate static func schedule(
      after delay: Duration, in modes: [RunLoopMode], target: AnyObject?, _ body: @escaping @Sendable () throws -> Void
    ) throws(Failure) -> RunLoopRequest? {
      let made = RunLoopRequest(body, target: target)
      var request = made.description
      _ = Unmanaged.passRetained(made)
      request.releaseArgument = RunLoopRequest.release
      do throws(Failure) {
        let result = try RunLoopMode.withNames(modes) { names throws(Failure) in
          try DelayedRequest.schedule(request, after: delay.nanoseconds, modes: names)
        }
        return result == Status.ok ? made : nil
      } catch {
        request.dispose()
        throw error
      }
    }

    /// Cancels the calling thread's requests for a target; whether there was one.
    fileprivate static func cancel(for target: AnyObject) throws(Failure) -> Bool {
      try DelayedRequest.cancel(target: identity(of: target)) == Status.ok
    }

    // MARK: The core's callbacks

    /// Nothing leaves the callback (PERF-11).
    private static let function: Request.Function = { _, argument in
      guard let argument else { return }
      let request = Unmanaged<RunLoopRequest>.fromOpaque(argument).takeUnretainedValue()
      do { try request.body?() } catch { RunLoopLastResort.report(error) }
    }
    private static let release: Request.Release = { argument in
      guard let argument else { return }
      let request = Unmanaged<RunLoopRequest>.fromOpaque(argument).takeRetainedValue()
      request.body = nil
      request.target = nil
    }
  }

  extension RunLoop {
    /// Has the calling thread's loop perform a body once, after a delay: timer work, never before the next pass.
    /// Requests of one date are performed in their order (PERF-12 to PERF-14). What is left when the thread ends is
    /// dropped (PERF-16). [any]
    /// - Parameters:
    ///   - delay: zero or less is as soon as possible.
    ///   - modes: with an empty list nothing is performed.
    ///   - target: kept until then; `cancelPerforms` finds the request by it (PERF-15).
    ///   - body: an error that it throws goes to the last-resort handler (PERF-11).
    /// - Returns: the request, to cancel it; nil for an empty list of modes.
    /// - Throws: `Failure` when out of memory, or in the child of a fork. Since 1.0.
    @discardableResult
    public static func perform(
      after delay: Duration, in modes: [RunLoopMode] = [.default], for target: AnyObject? = nil,
      _ body: @escaping @Sendable () throws -> Void
    ) throws(Failure) -> RunLoopRequest? {
      try RunLoopRequest.schedule(after: delay, in: modes, target: target, body)
    }

    /// Cancels all delayed requests of the calling thread for this target, by identity; their bodies are released
    /// (PERF-15). [any]
    /// - Returns: whether there was one.
    /// - Throws: `Failure` when out of memory, or in the child of a fork. Since 1.0.
    @discardableResult
    public static func cancelPerforms(for target: AnyObject) throws(Failure) -> Bool {
      try RunLoopRequest.cancel(for: target)
    }
  }
#endif
