// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// Pools: what is put off until the pass, the thread or the caller's pool ends (POOL-1 to POOL-5). A run loop opens
  /// one around every pass, a thread of Treadle's has one around its body. Since 1.0.
  public enum RunLoopPool {
    /// Calls `body` with a pool of its own, which is closed when the body returns or throws: what was added
    /// meanwhile on the calling thread is called then, the latest first (POOL-2). [any]
    /// - Returns: the body's result.
    /// - Throws: the body's own error; `Failure`, without a call of the body, when out of memory, or in the child of
    ///   a fork. Since 1.0.
    public static func withPool<Result>(_ body: () throws -> Result) throws -> Result {
      let token = try Pool.push()
      // Closed already only where the body forked: there nothing is left to close.
      defer { try? Pool.pop(token) }
      return try body()
    }

    /// Has `work` called when the calling thread's innermost pool is closed; without an open pool, when the thread
    /// ends, after its will-exit notification (POOL-2). It may add more, and call everything (POOL-5). [any]
    /// - Parameter work: called and released on the calling thread.
    /// - Throws: `Failure` when out of memory, or in the child of a fork; the work is not called. Since 1.0.
    public static func add(_ work: @escaping @Sendable () -> Void) throws(Failure) {
      let info = Unmanaged.passRetained(PoolWork(work)).toOpaque()
      do throws(Failure) {
        try Pool.add(PoolWork.call, info)
      } catch {
        Unmanaged<PoolWork>.fromOpaque(info).release()
        throw error
      }
    }
  }

  /// What waits in a pool.
  private final class PoolWork: Sendable {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    /// Takes the object over.
    static let call: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
      if let info { Unmanaged<PoolWork>.fromOpaque(info).takeRetainedValue().work() }
    }
  }
#endif
