// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import CTreadleSystem
  public import TreadleBase

  /// A thread: one that Treadle starts, or the object of a thread that somebody else started. Two references to
  /// one thread are equal, but need not be identical. A reference may be kept for as long as wanted, also when
  /// the thread has ended. A joinable thread whose last reference goes without a join is detached (THR-17).
  ///
  /// There is no way to end a thread from inside other than to return from its body: frames of Swift that were
  /// skipped would leave what they hold. Since 1.0.
  public final class RunLoopThread: @unchecked Sendable {
    /// Constant; the core guards its own state.
    let thread: Thread
    private let life: ProcessLife

    /// Takes a reference of the client's over.
    private init(owning thread: Thread) {
      self.thread = thread
      life = ProcessLife()
    }

    /// Adds a reference to a thread that lives as long as this call.
    private convenience init(retaining thread: Thread) throws(Failure) {
      try Slab(.thread).retainForClient(thread.handle.bits, "thread")
      self.init(owning: thread)
    }

    /// The thread that a handle means, if it lives still.
    convenience init(handle: UInt) throws(Failure) {
      let thread = try Thread.hold(handle, "thread")
      defer { thread.letGo() }
      try self.init(retaining: thread)
    }

    deinit { if life.goesOn { try? Thread.release(thread.handle.bits) } }

    /// Makes a thread, which `start` starts (THR-1). [any]
    /// - Parameters:
    ///   - name: any text without a NUL, up to 65,535 bytes of UTF-8; see `setName`.
    ///   - stackSize: bytes, 16,384 to 1 GiB, a multiple of 4,096; nil for 524,288 (THR-13).
    ///   - priority: 0 to 1, limited to that; nil for 0.5; see `setPriority`.
    ///   - policy: how the kernel schedules it; see `Policy`.
    ///   - qualityOfService: any number, kept without effect (THR-13).
    ///   - isDetached: whether nobody will join it (THR-17).
    ///   - body: called on the new thread, and released when it has returned or when it is sure that it is never
    ///     called (THR-4). An error that it throws goes to the last-resort handler (THR-19).
    /// - Throws: `Failure` for an attribute that is out of its range, when out of memory, or in the child of a
    ///   fork. Since 1.0.
    public convenience init(
      name: String? = nil, stackSize: Int? = nil, priority: Double? = nil, policy: Policy = .default,
      qualityOfService: Int32 = 0, isDetached: Bool = false, body: @escaping @Sendable () throws -> Void
    ) throws(Failure) {
      self.init(owning: try ThreadBody(body).makeThread())
      if let name { try setName(name) }
      if let stackSize { try setStackSize(stackSize) }
      if let priority { try setPriority(priority) }
      if policy != .default { try setPolicy(policy) }
      if qualityOfService != 0 { try setQualityOfService(qualityOfService) }
      if isDetached { try detach() }
    }

    /// Makes a detached thread with the default attributes and starts it (THR-3). [any]
    /// - Parameter body: as in `init`.
    /// - Throws: as `init` and `start`. Since 1.0.
    @discardableResult
    public static func detachNew(_ body: @escaping @Sendable () throws -> Void) throws(Failure) -> RunLoopThread {
      let thread = try RunLoopThread(isDetached: true, body: body)
      try thread.start()
      return thread
    }

    // MARK: Which thread

    /// The calling thread's object, made on first use for a thread that Treadle did not start (THR-9, THR-20).
    /// [any]
    /// - Throws: `Failure` when out of memory, or in the child of a fork. Since 1.0.
    public static func current() throws(Failure) -> RunLoopThread { try RunLoopThread(retaining: Thread.current()) }

    /// The object of the process's initial thread (THR-10). [any]
    /// - Throws: as `current`. Since 1.0.
    public static func main() throws(Failure) -> RunLoopThread { try RunLoopThread(handle: Thread.main().handle.bits) }

    /// Whether the calling thread is the process's initial one (THR-10). [any] Since 1.0.
    public static var isMain: Bool { Thread.isMainCalling }

    /// Whether this is the process's initial thread (THR-10). [any] Since 1.0.
    public var isMain: Bool { thread.isMain }

    /// Whether this is the calling thread (THR-9). [any] Since 1.0.
    public var isCurrent: Bool { thread.isCurrent }

    /// Whether a thread was ever started through Treadle in this process; threads of others do not count. Once
    /// true, true for ever (THR-11). [any] Since 1.0.
    public static var isMultiThreaded: Bool { MultiThreading.isOn }

    /// The thread's run loop, made now if there is none yet, also before the start: what is added or queued
    /// meanwhile waits for the thread (RL-9). [any]
    /// - Throws: `Failure` when the thread has finished, or when out of memory. Since 1.0.
    public var loop: RunLoop {
      get throws(Failure) {
        let loop = try thread.holdLoop()
        defer { loop.letGo() }
        return try RunLoop(retaining: loop)
      }
    }

    /// The pthread_t (THR-20). Good until the thread is joined, or, if it is detached, until it ends. [any]
    /// - Throws: `Failure` when the thread does not execute. Since 1.0.
    public var pthread: UInt {
      get throws(Failure) { try thread.pthread() }
    }

    /// The kernel's id of the thread; 0 before it executes and after it ended (THR-20). [any] Since 1.0.
    public var kernelID: Int32 { thread.kernelID }

    // MARK: Sleeping

    /// Sleeps for at least so long; zero or less returns at once. Signals do not cut it short; the thread's loop
    /// is not served (THR-15). [any] Since 1.0.
    public static func sleep(for duration: Duration) {
      sleep(until: Clock.after(duration.nanoseconds, from: Clock.now()))
    }

    /// Sleeps until a date of the monotonic clock in nanoseconds, as `RunLoop.now` has them; a past one returns at
    /// once (THR-15). [any] Since 1.0.
    public static func sleep(until date: Int64) {
      if date > Clock.now() { treadle_system_sleep_until(date) }
    }
  }

  extension RunLoopThread: Hashable {
    /// Whether both mean the same thread (THR-9). [any] Since 1.0.
    public static func == (left: RunLoopThread, right: RunLoopThread) -> Bool {
      left.thread.state == right.thread.state
    }

    /// Equal threads hash alike. [any] Since 1.0.
    public func hash(into hasher: inout Hasher) { hasher.combine(thread.state) }
  }
#endif
