// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A call of a C function, known by its address or its name alone, on the thread of a run loop, whose result comes
/// back.
///
///     let call = unsafe try RunLoopInvocation(of: RunLoopFunction(named: "labs"), with: -3, returning: Int.self)
///     print(try await call.perform(on: loop))
///
/// For a function that the compiler knows, `RunLoop.perform` does with less. May be performed again when a call is
/// over, by one thread or task at a time. Since 1.0.
public final class RunLoopInvocation<Result>: Sendable {
  private let reference: Reference
  private let function: RunLoopFunction
  private let read: @Sendable (OpaquePointer) throws(TreadleError) -> Result
  /// The function's type, in the notation of signatures. Since 1.0.
  public let signature: String

  var handle: OpaquePointer { reference.handle }

  /// Creates a call of a function with a result. The compiler cannot check that the function is of this type. Any
  /// thread.
  /// - Parameters:
  ///   - function: the function; a closure is kept.
  ///   - arguments: copied now, strings too; what other pointers point to is the caller's to keep until the call is
  ///     over.
  ///   - type: what the function returns.
  ///   - scope: what the call belongs to; nil: the scope that the thread has entered.
  /// - Throws: `TreadleError` for a type whose encoding is wrong, when the scope is closed, or when out of memory.
  ///   Since 1.0.
  @unsafe public init<each Argument: RunLoopArgument>(
    of function: RunLoopFunction, with arguments: repeat each Argument, returning type: Result.Type,
    scope: RunLoopScope? = nil
  ) throws(TreadleError) where Result: RunLoopValue {
    let signature = try CallSignature(
      result: (Result.typeEncoding, MemoryLayout<Result>.size), repeat Swift.type(of: each arguments))
    self.signature = signature.encoding
    self.function = function
    reference = try makeInvocation(of: function, signature, scope)
    read = { handle throws(TreadleError) in
      var result = CallArguments.zero(Result.self)
      try check(withUnsafeMutableBytes(of: &result) { treadle_invocation_get_result(handle, $0.baseAddress, $0.count) })
      return result
    }
    try set(repeat each arguments)
  }

  /// Creates a call of a function without a result. The compiler cannot check that the function is of this type. Any
  /// thread.
  /// - Parameters:
  ///   - function: the function; a closure is kept.
  ///   - arguments: copied now, strings too; what other pointers point to is the caller's to keep until the call is
  ///     over.
  ///   - scope: what the call belongs to; nil: the scope that the thread has entered.
  /// - Throws: as above. Since 1.0.
  @unsafe public init<each Argument: RunLoopArgument>(
    of function: RunLoopFunction, with arguments: repeat each Argument, scope: RunLoopScope? = nil
  ) throws(TreadleError) where Result == Void {
    let signature = try CallSignature(result: ("v", 0), repeat Swift.type(of: each arguments))
    self.signature = signature.encoding
    self.function = function
    reference = try makeInvocation(of: function, signature, scope)
    read = { handle throws(TreadleError) in try check(treadle_invocation_get_result(handle, nil, 0)) }
    try set(repeat each arguments)
  }

  private func set<each Argument: RunLoopArgument>(_ arguments: repeat each Argument) throws(TreadleError) {
    var index = 0
    for argument in repeat each arguments {
      try setArgument(argument, at: index)
      index += 1
    }
  }

  /// Sets an argument for the next call, of the type that it was made with; copied now, a string too. Any thread.
  /// - Throws: `TreadleError` for an index that does not exist, or an argument of another size; while a call is queued
  ///   or runs; when out of memory. Since 1.0.
  @unsafe public func setArgument<Argument: RunLoopArgument>(_ argument: Argument, at index: Int) throws(TreadleError) {
    guard index >= 0 else { throw TreadleError(.range, "there is no argument \(index)") }
    func set<Value>(_ value: Value) -> treadle_status {
      withUnsafeBytes(of: value) { treadle_invocation_set_argument(handle, index, $0.baseAddress, $0.count) }
    }
    if let text = argument as? String {
      try check(text.withCString { set($0) })
    } else {
      try check(set(argument))
    }
  }

  // MARK: Performing

  /// Has the loop's thread call the function, and returns when it has. Done directly on that thread itself (PERF-2);
  /// otherwise in a pass of one of the modes, in its turn among what the thread is to perform (PERF-1 to PERF-6). Any
  /// thread.
  /// - Parameters:
  ///   - loop: where the function is called; nil: on the calling thread.
  ///   - modes: nil: the common modes, and `.call`.
  ///   - timeout: nil waits for ever; zero or less does not wait. A call that has not begun then is cancelled; one that
  ///     runs goes on.
  ///   - runsOwnLoop: whether the calling thread's loop runs in the mode `.call` meanwhile.
  /// - Returns: what the function returned.
  /// - Throws: `TreadleError` of the code `.timeout`; `.cancelled` when the call was cancelled; `.closed` when the
  ///   loop's thread has finished, or ends before it has called, and after `RunLoop.shutDown`; `.deadlock` when it
  ///   waits for the caller; `.state` while another call is queued or runs; `.argument` for an empty list of modes.
  ///   Since 1.0.
  @discardableResult
  public func performAndWait(
    on loop: RunLoop? = nil, in modes: [RunLoopMode]? = nil, timeout: Duration? = nil, runsOwnLoop: Bool = false
  ) throws(TreadleError) -> Result {
    var options = treadle_invocation_options()
    options.wait = UInt32(runsOwnLoop ? TREADLE_WAIT_RUNNING : TREADLE_WAIT_BLOCK)
    options.timeout_ns = timeout.map { max($0.nanoseconds, 1) } ?? 0
    try check(queue(&options, on: loop, in: modes))
    return try result
  }

  /// Has the loop's thread call the function, and returns at once; `state` tells what becomes of it. Any thread.
  /// - Throws: as above. Since 1.0.
  public func start(on loop: RunLoop, in modes: [RunLoopMode]? = nil) throws(TreadleError) {
    var options = treadle_invocation_options()
    try check(queue(&options, on: loop, in: modes))
  }

  /// Queues a call. For who waits for it, its loop performs `completion` when it is over, or drops it.
  func queue(
    _ options: inout treadle_invocation_options, on loop: RunLoop?, in modes: [RunLoopMode]?
  ) throws(TreadleError) -> treadle_status {
    if let modes, modes.isEmpty { throw TreadleError(.argument, "modes is empty: nothing would be called") }
    options.struct_size = MemoryLayout<treadle_invocation_options>.size
    options.loop = loop?.handle
    return withExtendedLifetime(loop) {
      guard let modes else { return treadle_invocation_perform(handle, &options) }
      return RunLoopMode.withNames(modes) { names, count in
        options.modes = names
        options.mode_count = count
        return treadle_invocation_perform(handle, &options)
      }
    }
  }

  /// Cancels a call that has not begun: the function is not called, and its waiter gets an error. Any thread.
  /// - Returns: false when no call is queued: there is none, it runs, or it is over. Since 1.0.
  @discardableResult
  public func cancel() -> Bool { treadle_invocation_cancel(handle) == TREADLE_OK }

  /// The result of the last call's function. Any thread.
  /// - Throws: `TreadleError` of the code `.state` unless the state is `.done`. Since 1.0.
  public var result: Result {
    get throws(TreadleError) { try read(handle) }
  }

  /// errno as the last call's function left it (PERF-7). After `performAndWait` the calling thread has it, too; behind
  /// an `await` the task may be on another thread. Any thread.
  /// - Throws: as `result`. Since 1.0.
  public var errno: Int32 {
    get throws(TreadleError) {
      var errno: Int32 = 0
      try check(treadle_invocation_get_errno(handle, &errno))
      return errno
    }
  }

  /// The state of the last call. Any thread.
  /// - Throws: `TreadleError` when its scope has ended it. Since 1.0.
  public var state: RunLoopInvocationState {
    get throws(TreadleError) {
      var state: UInt32 = 0
      try check(treadle_invocation_get_state(handle, &state))
      return RunLoopInvocationState(rawValue: state) ?? .dropped
    }
  }
}

/// The state of an invocation's last call. Since 1.0.
public enum RunLoopInvocationState: UInt32, Sendable {
  /// It was never performed. Since 1.0.
  case idle = 0
  /// It waits for its loop. Since 1.0.
  case queued = 1
  /// The function runs. Since 1.0.
  case running = 2
  /// The function has returned. Since 1.0.
  case done = 3
  /// It was cancelled, or a timeout passed before it had begun. Since 1.0.
  case cancelled = 4
  /// The loop's thread has ended before, or everything was shut down. Since 1.0.
  case dropped = 5
}

extension RunLoopInvocation: CustomStringConvertible {
  /// The function's type and address, and the call's state, for debugging. Any thread. Since 1.0.
  public var description: String {
    "RunLoopInvocation(“\(signature)”, \(function), \((try? state).map { "\($0)" } ?? "gone"))"
  }
}

private func makeInvocation(
  of function: RunLoopFunction, _ signature: CallSignature, _ scope: RunLoopScope?
) throws(TreadleError) -> Reference {
  var config = treadle_invocation_config()
  config.struct_size = MemoryLayout<treadle_invocation_config>.size
  config.code = unsafeBitCast(function.address, to: (@convention(c) () -> Void)?.self)
  // What is called outlives a call that is queued when the invocation's last reference goes.
  config.info = Body<RunLoopFunction>.pass(function)
  config.destroy = releaseBody
  let made = try made { out in
    signature.encoding.withCString { encoding in
      config.signature = encoding
      return scope.use {
        config.scope = $0
        return treadle_invocation_create(&config, out)
      }
    }
  }
  return Reference(owning: made)
}
