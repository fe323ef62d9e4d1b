// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

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
  /// made it; on another one, nothing happens.
  /// - Returns: whether it was waiting. Since 1.0.
  @discardableResult
  public func cancel() -> Bool {
    var like = likeness
    return treadle_perform_cancel(&like) == TREADLE_OK
  }

  /// What tells this request from others. Holds nothing.
  fileprivate var likeness: treadle_request {
    var request = treadle_request()
    request.struct_size = MemoryLayout<treadle_request>.size
    request.fn = RunLoopRequest.call
    request.target = identity
    request.argument = RunLoopRequest.identity(of: self)
    return request
  }

  /// Nothing leaves the callback (PERF-11).
  private static let call: treadle_request_fn = { _, argument in
    guard let argument else { return }
    if let body = Unmanaged<RunLoopRequest>.fromOpaque(argument).takeUnretainedValue().body { contain(body) }
  }

  private static func identity(of object: AnyObject) -> UnsafeMutableRawPointer {
    Unmanaged.passUnretained(object).toOpaque()
  }

  /// Creates a request of the calling thread's loop. nil for an empty list of modes.
  fileprivate static func schedule(
    after delay: Duration, in modes: [RunLoopMode]?, target: AnyObject?, _ body: @escaping @Sendable () throws -> Void
  ) throws(TreadleError) -> RunLoopRequest? {
    let made = RunLoopRequest(body, target: target)
    var request = made.likeness
    _ = Unmanaged.passRetained(made)
    request.release_argument = { argument in
      guard let argument else { return }
      let request = Unmanaged<RunLoopRequest>.fromOpaque(argument).takeRetainedValue()
      request.body = nil
      request.target = nil
    }
    request.delay_ns = max(delay.nanoseconds, 0)
    request.flags = UInt32(TREADLE_PERFORM_AFTER)
    // One that is refused is given back by the library.
    let status: treadle_status
    if let modes {
      status = RunLoopMode.withNames(modes) { names, count in
        request.modes = names
        request.mode_count = count
        return treadle_perform(nil, &request)
      }
    } else {
      status = treadle_perform(nil, &request)
    }
    return try check(status) == TREADLE_OK ? made : nil
  }

  /// Cancels the calling thread's requests for a target; whether there was one.
  fileprivate static func cancel(for target: AnyObject) throws(TreadleError) -> Bool {
    var like = treadle_request()
    like.struct_size = MemoryLayout<treadle_request>.size
    like.target = identity(of: target)
    return try check(treadle_perform_cancel(&like)) == TREADLE_OK
  }
}

extension RunLoopRequest: CustomStringConvertible {
  /// Which request it is, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopRequest(\(ObjectIdentifier(self)))" }
}

extension RunLoop {
  /// Has the calling thread's loop perform a body once, after a delay: timer work, never before the next pass. Requests
  /// of one date are performed in their order (PERF-12 to PERF-14). Requests that remain when the thread ends are
  /// dropped (PERF-16). Any thread.
  /// - Parameters:
  ///   - delay: zero or less is as soon as possible.
  ///   - modes: nil: the default mode. With an empty list nothing is performed.
  ///   - target: kept until then; `cancelPerforms` finds the request by it (PERF-15).
  ///   - body: an error that it throws goes to the last-resort handler (PERF-11).
  /// - Returns: the request, to cancel it; nil for an empty list of modes.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  @discardableResult
  public static func perform(
    after delay: Duration, in modes: [RunLoopMode]? = nil, for target: AnyObject? = nil,
    _ body: @escaping @Sendable () throws -> Void
  ) throws(TreadleError) -> RunLoopRequest? {
    try RunLoopRequest.schedule(after: delay, in: modes, target: target, body)
  }

  /// Cancels all delayed requests of the calling thread for this target, by identity; their bodies are released
  /// (PERF-15). Any thread.
  /// - Returns: whether there was one.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  @discardableResult
  public static func cancelPerforms(for target: AnyObject) throws(TreadleError) -> Bool {
    try RunLoopRequest.cancel(for: target)
  }
}
