// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A condition: a pthread condition on the monotonic clock (THR-20). All who wait for one use one lock. Since 1.0.
  public final class RunLoopCondition: @unchecked Sendable {
    /// Constant; the core guards its own state.
    private let condition: ClientCondition
    private let life: ProcessLife

    /// - Throws: `Failure` when out of memory, or in the child of a fork. [any] Since 1.0.
    public init() throws(Failure) {
      condition = try ClientCondition.create()
      life = ProcessLife()
    }

    deinit { if life.goesOn { try? ClientCondition.release(condition.handle.bits) } }

    /// Unlocks the lock, waits for a signal, and locks it again. May return for no reason: look at what you wait for
    /// in a loop (THR-20). [any]
    /// - Parameters:
    ///   - lock: locked by the calling thread, once.
    ///   - timeout: on the monotonic clock; nil waits for ever, zero or less does not wait.
    /// - Throws: `Failure` when the timeout passes, with the lock locked again; when the calling thread does not own
    ///   the lock, or has locked it more than once. Since 1.0.
    public func wait(_ lock: RunLoopLock, timeout: Duration? = nil) throws(Failure) {
      try condition.wait(lock.lock, timeout: timeout.limit)
    }

    /// Wakes one who waits, if there is one (THR-20). [any] Since 1.0.
    public func signal() { condition.signal() }

    /// Wakes all who wait (THR-20). [any] Since 1.0.
    public func broadcast() { condition.broadcast() }

    /// The pthread_cond_t itself, valid while this object lives; its clock is the monotonic one (THR-20). [any]
    /// Since 1.0.
    public var native: UnsafeMutableRawPointer { condition.native }
  }
#endif
