// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A lock: a pthread mutex that checks for errors (THR-20). Unlock it before the last reference to it goes: else its
/// memory stays for ever. Since 1.0.
public final class RunLoopLock: Sendable {
  private let reference: Reference

  var handle: OpaquePointer { reference.handle }

  /// Creates a lock. Any thread.
  /// - Parameter isRecursive: whether its owner may lock it again, and unlocks it as often.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  public init(isRecursive: Bool = false) throws(TreadleError) {
    reference = Reference(
      owning: try made { treadle_lock_create(isRecursive ? UInt32(TREADLE_LOCK_RECURSIVE) : 0, $0) })
  }

  /// Locks it. Any thread.
  /// - Parameter timeout: on the monotonic clock; nil waits for ever, zero or less does not wait.
  /// - Throws: `TreadleError` when the timeout passes; when the calling thread owns it already and it is not recursive;
  ///   when a recursive one is locked too often (THR-20). Since 1.0.
  public func lock(timeout: Duration? = nil) throws(TreadleError) {
    try check(treadle_lock_lock(handle, timeout.limit))
  }

  /// Locks it if that is possible at once (THR-20). Any thread.
  /// - Returns: false when it is locked, by whomever.
  /// - Throws: `TreadleError` when a recursive one is locked too often. Since 1.0.
  public func tryLock() throws(TreadleError) -> Bool {
    let status = treadle_lock_lock(handle, 0)
    if status == TREADLE_E_TIMEOUT || status == TREADLE_E_DEADLOCK { return false }
    try check(status)
    return true
  }

  /// Unlocks it. Any thread.
  /// - Throws: `TreadleError` when the calling thread does not own it (THR-20). Since 1.0.
  public func unlock() throws(TreadleError) { try check(treadle_lock_unlock(handle)) }

  /// Calls `body` with the lock locked, and unlocks it when the body returns or throws (THR-20). Any thread.
  /// - Returns: the body's result.
  /// - Throws: the body's own error; as `lock`, without a call of the body. Since 1.0.
  public func withLock<Result>(_ body: () throws -> Result) throws -> Result {
    try lock(timeout: nil)
    // Unlocked already only by a body that unlocks what is not its own to unlock.
    defer { try? unlock() }
    return try body()
  }
}

/// A condition: a pthread condition on the monotonic clock (THR-20). All who wait for one use one lock. Since 1.0.
public final class RunLoopCondition: Sendable {
  private let reference: Reference

  /// Creates a condition. Any thread.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  public init() throws(TreadleError) { reference = Reference(owning: try made { treadle_condition_create($0) }) }

  /// Unlocks the lock, waits for a signal, and locks it again. May return for no reason: look at what you wait for
  /// in a loop (THR-20). Any thread.
  /// - Parameters:
  ///   - lock: locked by the calling thread, once.
  ///   - timeout: on the monotonic clock; nil waits for ever, zero or less does not wait.
  /// - Throws: `TreadleError` when the timeout passes, with the lock locked again; when the calling thread does not own
  ///   the lock, or has locked it more than once. Since 1.0.
  public func wait(_ lock: RunLoopLock, timeout: Duration? = nil) throws(TreadleError) {
    try check(treadle_condition_wait(reference.handle, lock.handle, timeout.limit))
  }

  /// Wakes one waiter, if there is one (THR-20). Any thread. Since 1.0.
  public func signal() { _ = treadle_condition_signal(reference.handle) }

  /// Wakes all who wait (THR-20). Any thread. Since 1.0.
  public func broadcast() { _ = treadle_condition_broadcast(reference.handle) }
}

extension RunLoopLock: CustomStringConvertible {
  /// Which lock it is, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopLock(\(handle))" }
}

extension RunLoopCondition: CustomStringConvertible {
  /// Which condition it is, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopCondition(\(reference.handle))" }
}
