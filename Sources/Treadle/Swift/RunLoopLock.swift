// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A lock: a pthread mutex that checks for errors (THR-20). Unlock it before the last reference to it goes: else its
  /// memory stays for ever. Since 1.0.
  public final class RunLoopLock: @unchecked Sendable {
    /// Constant; the core guards its own state.
    let lock: ClientLock
    private let life: ProcessLife

    /// - Parameter isRecursive: whether its owner may lock it again, and unlocks it as often.
    /// - Throws: `Failure` when out of memory, or in the child of a fork. [any] Since 1.0.
    public init(isRecursive: Bool = false) throws(Failure) {
      lock = try ClientLock.create(isRecursive: isRecursive)
      life = ProcessLife()
    }

    deinit { if life.goesOn { try? ClientLock.release(lock.handle.bits) } }

    /// Locks it. [any]
    /// - Parameter timeout: on the monotonic clock; nil waits for ever, zero or less does not wait.
    /// - Throws: `Failure` when the timeout passes; when the calling thread owns it already and it is not recursive;
    ///   when a recursive one is locked too often (THR-20). Since 1.0.
    public func lock(timeout: Duration? = nil) throws(Failure) { try lock.lock(timeout: timeout.limit) }

    /// Locks it if that is possible at once (THR-20). [any]
    /// - Returns: false when it is locked, by whomever.
    /// - Throws: `Failure` when a recursive one is locked too often. Since 1.0.
    public func tryLock() throws(Failure) -> Bool {
      do throws(Failure) {
        try lock.lock(timeout: 0)
        return true
      } catch {
        if error.status == Status.timeout || error.status == Status.deadlock { return false }
        throw error
      }
    }

    /// Unlocks it. [any]
    /// - Throws: `Failure` when the calling thread does not own it (THR-20). Since 1.0.
    public func unlock() throws(Failure) { try lock.unlock() }

    /// Calls `body` with the lock locked, and unlocks it when the body returns or throws (THR-20). [any]
    /// - Returns: the body's result.
    /// - Throws: the body's own error; as `lock`, without a call of the body. Since 1.0.
    public func withLock<Result>(_ body: () throws -> Result) throws -> Result {
      try lock(timeout: nil)
      // Unlocked already only by a body that unlocks what is not its own to unlock.
      defer { try? unlock() }
      return try body()
    }

    /// The pthread_mutex_t itself, valid while this object lives. Use one lock through one interface only, this one or
    /// that of POSIX (THR-20). [any] Since 1.0.
    public var native: UnsafeMutableRawPointer { lock.native }
  }
#endif
