// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A C function pointer, created at run time, with a body of Swift behind it: for libraries whose callbacks have no
/// info parameter. Any thread may call it, but no signal handler. When the last reference to this object is released it
/// is invalidated. The pointer may still be called and returns the default result, until, much later, a new closure
/// reuses it (with `Options.keepsCode`: never). The types of the arguments and the result are the body's:
///
///     let compare = try RunLoopClosure { (left: UnsafeRawPointer?, right: UnsafeRawPointer?) -> Int32 in … }
///
/// Since 1.0.
public final class RunLoopClosure: Sendable {
  private typealias Handle = @Sendable (borrowing treadle_call) throws -> Void

  private let reference: Reference
  private let address: UInt
  /// The function's type, in the notation of signatures. Since 1.0.
  public let signature: String

  var handle: OpaquePointer { reference.handle }

  /// Creates a closure with a result. Any thread.
  /// - Parameters:
  ///   - delivery: on which thread the body is called, and whether the caller waits.
  ///   - defaultResult: what a caller gets whose call is not handled; nil: zeros.
  ///   - options: where the function pointer comes from, and what becomes of it.
  ///   - scope: the closure's scope; nil: the scope that the thread has entered.
  ///   - body: called for each call. An error that it throws is passed to the last-resort handler (THR-19), and the
  ///     caller gets the default result. Released when the closure is over and no call runs or waits.
  /// - Throws: `TreadleError` for a type whose encoding is wrong, or a delivery whose options do not fit together, when
  ///   the pool of function pointers is exhausted, when the scope is closed, or when out of memory. If the loop's
  ///   thread has ended, there is no error: callers get the default result. Since 1.0.
  public init<each Argument: RunLoopValue, Result: RunLoopValue>(
    _ delivery: Delivery = .inline, default defaultResult: Result? = nil, options: Options = [],
    scope: RunLoopScope? = nil,
    _ body: @escaping @Sendable (repeat each Argument) throws -> Result
  ) throws(TreadleError) {
    let signature = try CallSignature(
      result: (Result.typeEncoding, MemoryLayout<Result>.size), repeat (each Argument).self)
    let handle: Handle = { call in
      var arguments = CallArguments(call)
      let result = try body(repeat arguments.next((each Argument).self))
      call.result?.storeBytes(of: result, as: Result.self)
    }
    reference = try withUnsafeBytes(of: defaultResult ?? CallArguments.zero(Result.self)) {
      bytes throws(TreadleError) in
      try RunLoopClosure.make(signature, handle, delivery, bytes, options, scope)
    }
    self.signature = signature.encoding
    address = try RunLoopClosure.address(of: reference)
  }

  /// Creates a closure without a result. Any thread.
  /// - Parameters:
  ///   - delivery: on which thread the body is called, and whether the caller waits.
  ///   - options: where the function pointer comes from, and what becomes of it.
  ///   - scope: the closure's scope; nil: the scope that the thread has entered.
  ///   - body: as above.
  /// - Throws: as above. Since 1.0.
  public init<each Argument: RunLoopValue>(
    _ delivery: Delivery = .inline, options: Options = [], scope: RunLoopScope? = nil,
    _ body: @escaping @Sendable (repeat each Argument) throws -> Void
  ) throws(TreadleError) {
    let signature = try CallSignature(result: ("v", 0), repeat (each Argument).self)
    let handle: Handle = { call in
      var arguments = CallArguments(call)
      try body(repeat arguments.next((each Argument).self))
    }
    reference = try RunLoopClosure.make(signature, handle, delivery, nil, options, scope)
    self.signature = signature.encoding
    address = try RunLoopClosure.address(of: reference)
  }

  private static func make(
    _ signature: CallSignature, _ handle: @escaping Handle, _ delivery: Delivery,
    _ defaultResult: UnsafeRawBufferPointer?,
    _ options: Options, _ scope: RunLoopScope?
  ) throws(TreadleError) -> Reference {
    var config = treadle_closure_config()
    config.struct_size = MemoryLayout<treadle_closure_config>.size
    config.handler = { call, info in
      guard let call else { return treadle_status(truncatingIfNeeded: TREADLE_E_CALLBACK) }
      var status = treadle_status(truncatingIfNeeded: TREADLE_E_CALLBACK)
      Body<Handle>.use(info) { handle in
        contain {
          try handle(call.pointee)
          status = treadle_status(truncatingIfNeeded: TREADLE_OK)
        }
      }
      return status
    }
    config.flags = options.rawValue
    config.default_result = defaultResult?.baseAddress
    config.default_result_size = defaultResult?.count ?? 0
    config.timeout_ns = try delivery.fill(&config)
    config.info = Body<Handle>.pass(handle)
    config.destroy = releaseBody
    // One that is refused is given back by the library.
    let made = try made { out in
      signature.encoding.withCString { encoding in
        config.signature = encoding
        return delivery.use(&config) { config in
          scope.use {
            config.scope = $0
            return treadle_closure_create(&config, out)
          }
        }
      }
    }
    return Reference(owning: made)
  }

  private static func address(of reference: borrowing Reference) throws(TreadleError) -> UInt {
    var code: (@convention(c) () -> Void)?
    try check(treadle_closure_get_code(reference.handle, &code))
    return unsafeBitCast(code, to: UInt.self)
  }

  /// The function pointer, which keeps the closure. Any thread. Since 1.0.
  public var function: RunLoopFunction { RunLoopFunction(self, address: address) }

  // MARK: Its life

  /// True until the closure is invalidated (OBJ-5). Any thread. Since 1.0.
  public var isValid: Bool { treadle_is_valid(reference.object) }

  /// Ends the closure: calls that begin from now on get the default result; they are counted, and the first is reported
  /// to the last-resort handler. Calls that have begun are handled (OBJ-5). Any thread. Since 1.0.
  public func invalidate() { _ = treadle_invalidate(reference.object) }

  /// Ends the closure, and waits until no call is left. Any thread; from its own body it is invalidated only.
  /// - Parameter timeout: nil waits for ever, zero or less does not wait.
  /// - Throws: `TreadleError` when the timeout passes, with the end begun; when a call waits for the calling thread's
  ///   loop. Since 1.0.
  public func close(timeout: Duration? = nil) throws(TreadleError) {
    try check(treadle_close(reference.object, timeout.limit))
  }
}
