// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A thread: one that Treadle starts, or the object of a foreign thread. Two references to
/// one thread are equal, but need not be identical. A reference may be kept for as long as wanted, also when
/// the thread has ended. A joinable thread whose last reference goes without a join is detached (THR-17).
///
/// There is no way to end a thread from inside other than to return from its body: frames of Swift that were
/// skipped would leave what they hold. Since 1.0.
public final class RunLoopThread: Sendable {
  private let reference: Reference

  var handle: OpaquePointer { reference.handle }

  private init(_ reference: consuming Reference) { self.reference = reference }

  /// The thread of a handle that the caller borrows.
  convenience init(retaining handle: OpaquePointer) throws(TreadleError) {
    self.init(try Reference(retaining: handle))
  }

  /// Takes over a reference that the caller was given.
  convenience init(owning handle: OpaquePointer) { self.init(Reference(owning: handle)) }

  private typealias Main = @Sendable () throws -> Void

  /// Creates a thread, which `start` starts (THR-1). Any thread.
  /// - Parameters:
  ///   - name: any text without a NUL, up to 65,535 bytes of UTF-8; see `setName`.
  ///   - stackSize: bytes, 16,384 to 1 GiB, a multiple of 4,096; nil for 524,288 (THR-13).
  ///   - priority: 0 to 1, limited to that; nil for 0.5; see `setPriority`.
  ///   - policy: how the kernel schedules it; see `Policy`.
  ///   - isDetached: whether the thread is detached (THR-17).
  ///   - scope: the thread's scope; nil: the scope that the calling thread has entered.
  ///   - body: called on the new thread, and released when it has returned or when it is sure that it is never called
  ///     (THR-4). An error that it throws goes to the last-resort handler (THR-19). nil: the thread is a worker, which
  ///     runs its loop until it is stopped, also while nothing is in it (THR-18, RUN-16).
  /// - Throws: `TreadleError` for an attribute that is out of its range, when out of memory, when the scope is closed,
  ///   or in the child of a fork. Since 1.0.
  public convenience init(
    name: String? = nil, stackSize: Int? = nil, priority: Double? = nil, policy: Policy = .default,
    isDetached: Bool = false,
    scope: RunLoopScope? = nil, body: (@Sendable () throws -> Void)?
  ) throws(TreadleError) {
    var config = treadle_thread_config()
    config.struct_size = MemoryLayout<treadle_thread_config>.size
    if let body {
      config.fn = { info in
        Body<Main>.use(info) { contain($0) }
        return nil
      }
      config.info = Body<Main>.pass(body)
      config.destroy = releaseBody
    }
    config.flags = isDetached ? UInt32(TREADLE_THREAD_DETACHED) : 0
    let made = try made { handle in
      scope.use {
        config.scope = $0
        return treadle_thread_create(&config, handle)
      }
    }
    self.init(Reference(owning: made))
    if let name { try setName(name) }
    if let stackSize { try setStackSize(stackSize) }
    if let priority { try setPriority(priority) }
    if policy != .default { try setPolicy(policy) }
  }

  /// Creates a detached thread with the default attributes and starts it (THR-3). Any thread.
  /// - Parameter body: as in `init`.
  /// - Throws: as `init` and `start`. Since 1.0.
  @discardableResult
  public static func detachNew(_ body: @escaping @Sendable () throws -> Void) throws(TreadleError) -> RunLoopThread {
    let thread = try RunLoopThread(isDetached: true, body: body)
    try thread.start()
    return thread
  }

  /// Creates a worker and starts it: a thread that runs its loop until `stop`, also while nothing is in it; its loop
  /// takes work when this returns (THR-18, RUN-16). Any thread.
  /// - Parameters:
  ///   - name: as in `init`.
  ///   - scope: as in `init`.
  /// - Throws: as `init` and `startAndWait`. Since 1.0.
  public static func startWorker(name: String? = nil, scope: RunLoopScope? = nil) throws(TreadleError) -> RunLoopThread
  {
    let thread = try RunLoopThread(name: name, scope: scope, body: nil)
    try thread.startAndWait()
    return thread
  }

  // MARK: Which thread

  /// The calling thread's object, made on first use for a thread that Treadle did not start (THR-9, THR-20).
  /// Any thread.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  public static func current() throws(TreadleError) -> RunLoopThread {
    try RunLoopThread(retaining: checkHandle(treadle_thread_current()))
  }

  /// The object of the process's initial thread (THR-10). Any thread.
  /// - Throws: as `current`. Since 1.0.
  public static func main() throws(TreadleError) -> RunLoopThread {
    try RunLoopThread(retaining: checkHandle(treadle_thread_main()))
  }

  /// Whether the calling thread is the process's initial one (THR-10). Any thread. Since 1.0.
  public static var isMain: Bool { treadle_thread_is_main(nil) }

  /// Whether this is the process's initial thread (THR-10). Any thread. Since 1.0.
  public var isMain: Bool { treadle_thread_is_main(handle) }

  /// Whether this is the calling thread (THR-9). Any thread. Since 1.0.
  public var isCurrent: Bool { treadle_thread_current() == handle }

  /// Whether a thread was ever started through Treadle in this process; threads of others do not count. Once
  /// true, true for ever (THR-11). Any thread. Since 1.0.
  public static var isMultiThreaded: Bool { treadle_is_multithreaded() }

  /// The thread's run loop, made now if there is none yet, also before the start: what is added or queued
  /// meanwhile waits for the thread (RL-9). Any thread.
  /// - Throws: `TreadleError` when the thread has finished, or when out of memory. Since 1.0.
  public var loop: RunLoop {
    get throws(TreadleError) { RunLoop(owning: try made { treadle_thread_copy_loop(handle, $0) }) }
  }

  /// The pthread_t (THR-20). Good until the thread is joined, or, if it is detached, until it ends. Any thread.
  /// - Throws: `TreadleError` when the thread does not execute. Since 1.0.
  public var pthread: UInt {
    get throws(TreadleError) {
      var pthread: UInt = 0
      try check(treadle_thread_get_pthread(handle, &pthread))
      return pthread
    }
  }

  /// The kernel's id of the thread; 0 before it executes and after it ended (THR-20). Any thread. Since 1.0.
  public var kernelID: Int32 {
    var id: Int32 = 0
    _ = treadle_thread_get_id(handle, &id)
    return id
  }

  // MARK: Sleeping

  /// Sleeps for at least so long; zero or less returns at once. Signals do not cut it short; the thread's loop
  /// is not served (THR-15). Any thread. Since 1.0.
  public static func sleep(for duration: Duration) { _ = treadle_thread_sleep_for(duration.nanoseconds) }

  /// Sleeps until a date; a past one returns at once (THR-15). Any thread. Since 1.0.
  public static func sleep(until date: RunLoopInstant) { _ = treadle_thread_sleep_until(date.nanoseconds) }
}

extension RunLoop {
  /// The loop's thread, also before its start: the one whose `loop` it is (RL-9). Any thread.
  /// - Throws: `TreadleError` when the thread has finished, for another thread that Treadle did not start and that has
  ///   not asked for `RunLoopThread.current` yet, or when out of memory. Since 1.0.
  public var thread: RunLoopThread {
    get throws(TreadleError) { RunLoopThread(owning: try made { treadle_loop_copy_thread(handle, $0) }) }
  }
}

extension RunLoopThread: Hashable {
  /// Whether both mean the same thread (THR-9). Any thread. Since 1.0.
  public static func == (left: RunLoopThread, right: RunLoopThread) -> Bool { left.handle == right.handle }

  /// Equal threads hash alike. Any thread. Since 1.0.
  public func hash(into hasher: inout Hasher) { hasher.combine(handle) }
}

extension RunLoopThread: CustomStringConvertible {
  /// The thread's name, kernel id and state, for debugging. Any thread. Since 1.0.
  public var description: String {
    let name = name
    let state = isFinished ? "finished" : isExecuting ? "thread \(kernelID)" : "not started"
    return "RunLoopThread(\(name.isEmpty ? "" : "“\(name)”, ")\(state)\(isCancelled ? ", cancelled" : ""))"
  }
}
