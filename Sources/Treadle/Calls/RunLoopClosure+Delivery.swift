// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// How the caller of a function on another thread waits. Since 1.0.
public enum RunLoopWait: UInt32, Sendable {
  /// Not at all. Since 1.0.
  case none = 0
  /// Until the function has returned. Since 1.0.
  case blocked = 1
  /// Until the function has returned. The caller's own loop runs in the mode `.call` meanwhile. Since 1.0.
  case running = 2
}

extension RunLoopMode {
  /// The mode in which a loop runs while its thread waits with `RunLoopWait.running`. Calls that name no modes are
  /// delivered in the common modes and in this one. Since 1.0.
  public static let call = RunLoopMode(TREADLE_CALL_MODE)
}

extension RunLoopClosure {
  /// The effect of a call when as many are queued for the loop as may. Since 1.0.
  public enum WhenFull: UInt32, Sendable {
    /// The caller waits for room; on the loop's own thread it gets the default result. Since 1.0.
    case wait = 0
    /// It gets the default result, which is reported once. Since 1.0.
    case fail = 1
    /// It gets the default result. Since 1.0.
    case dropNewest = 2
    /// The oldest call that waits ends with the default result. Since 1.0.
    case dropOldest = 3
    /// Its arguments take the place of the newest waiting call's; where no caller waits alone. Since 1.0.
    case coalesce = 4
  }

  /// Where the function pointer comes from, and what becomes of it. Since 1.0.
  public struct Options: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The C interface's bits. Since 1.0.
    public let rawValue: UInt32
    /// A set of these bits. Since 1.0.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    private init(_ bits: Int) { rawValue = UInt32(truncatingIfNeeded: bits) }

    /// When the pool of function pointers is used up, one is made that may need executable memory. Since 1.0.
    public static let mayAllocate = Options(TREADLE_CLOSURE_MAY_ALLOCATE)
    /// The function pointer is never used again for another closure. Since 1.0.
    public static let keepsCode = Options(TREADLE_CLOSURE_KEEP_CODE)

    /// The names of what is in it. Since 1.0.
    public var description: String { names(of: self, [(.mayAllocate, "mayAllocate"), (.keepsCode, "keepsCode")]) }
  }

  /// On which thread the body is called, and whether the caller waits. Since 1.0.
  public struct Delivery: Sendable, CustomStringConvertible {
    private var loop: RunLoop?
    private var wait = RunLoopWait.blocked
    private var modes: [RunLoopMode]?
    private var timeout: Duration?
    private var limit = 0
    private var whenFull = WhenFull.wait

    private init() {}

    /// On the calling thread, at once. Since 1.0.
    public static let inline = Delivery()

    /// On a loop's thread, in a pass of one of the modes, in its turn among what that is to perform (PERF-1 to PERF-6).
    /// A caller that waits on that thread itself has the body called directly (PERF-2).
    /// - Parameters:
    ///   - loop: also one whose thread has not started.
    ///   - wait: `.none` gives the caller the default result at once.
    ///   - modes: nil: the common modes, and `.call`.
    ///   - timeout: how long a caller waits, for room and for the result; nil for ever. Then it gets the default
    ///     result.
    ///   - limit: how many calls may wait for the loop, up to 1,048,576; nil: 1,024.
    ///   - whenFull: what becomes of further ones.
    /// Since 1.0.
    public static func carried(
      to loop: RunLoop, wait: RunLoopWait = .blocked, in modes: [RunLoopMode]? = nil, timeout: Duration? = nil,
      limit: Int? = nil,
      whenFull: WhenFull = .wait
    ) -> Delivery {
      var delivery = Delivery()
      delivery.loop = loop
      delivery.wait = wait
      delivery.modes = modes
      delivery.timeout = timeout
      delivery.limit = limit.map { $0 == 0 ? -1 : $0 } ?? 0
      delivery.whenFull = whenFull
      return delivery
    }

    /// In words. Since 1.0.
    public var description: String {
      loop == nil ? "inline" : "carried to a loop, wait: \(wait), when full: \(whenFull)"
    }

    /// Fills in what has no pointers.
    func fill(_ config: inout treadle_closure_config) throws(TreadleError) -> Int64 {
      guard let limit = UInt32(exactly: limit) else { throw TreadleError(.range, "limit is not from 1 to 1,048,576") }
      config.queue_limit = limit
      config.on_full = whenFull.rawValue
      config.delivery = loop == nil ? UInt32(TREADLE_DELIVERY_INLINE) : UInt32(TREADLE_DELIVERY_ASYNC) &+ wait.rawValue
      return timeout.map { max($0.nanoseconds, 1) } ?? 0
    }

    /// Calls `body` with the rest filled in, which lives meanwhile.
    func use(
      _ config: inout treadle_closure_config, _ body: (inout treadle_closure_config) -> treadle_status
    ) -> treadle_status {
      config.loop = loop?.handle
      return withExtendedLifetime(loop) {
        guard let modes else { return body(&config) }
        return RunLoopMode.withNames(modes) { names, count in
          config.modes = names
          config.mode_count = count
          return body(&config)
        }
      }
    }
  }

  /// A closure's state and counts. Since 1.0.
  public struct Info: Sendable, CustomStringConvertible {
    /// A closure's state. Since 1.0.
    public enum State: UInt32, Sendable {
      /// It takes calls. Since 1.0.
      case active = 0
      /// It has ended; calls that had begun are handled. Since 1.0.
      case invalidated = 1
      /// No call is left, and the body is released. Since 1.0.
      case drained = 2
    }

    /// Its state. Since 1.0.
    public let state: State
    /// Calls that wait for the loop now. Since 1.0.
    public let waiting: Int
    /// Calls whose body has returned. Since 1.0.
    public let handled: UInt64
    /// Calls whose body has thrown. Since 1.0.
    public let failed: UInt64
    /// Calls that did not reach it: no room, coalesced, no memory, a deadlock, the thread ended. Since 1.0.
    public let dropped: UInt64
    /// Callers that did not wait any longer. Since 1.0.
    public let timedOut: UInt64
    /// Calls after the closure's end. Since 1.0.
    public let afterInvalidated: UInt64

    /// All of it in a line. Since 1.0.
    public var description: String {
      "\(state), \(waiting) waiting, \(handled) handled, \(failed) failed, \(dropped) dropped, \(timedOut) timed out, "
        + "\(afterInvalidated) after the end"
    }
  }

  /// State and counts. Any thread.
  /// - Throws: `TreadleError` when its scope has ended it. Since 1.0.
  public var info: Info {
    get throws(TreadleError) {
      var info = treadle_closure_info()
      info.struct_size = MemoryLayout<treadle_closure_info>.size
      try check(treadle_closure_get_info(handle, &info))
      return Info(
        state: Info.State(rawValue: info.state) ?? .drained, waiting: Int(info.waiting), handled: info.handled,
        failed: info.failed, dropped: info.dropped, timedOut: info.timed_out, afterInvalidated: info.after_invalidated)
    }
  }
}

extension RunLoopClosure: CustomStringConvertible {
  /// The function's type and address, and what it has done, for debugging. Any thread. Since 1.0.
  public var description: String {
    "RunLoopClosure(“\(signature)”, \(function), \((try? info).map { "\($0)" } ?? "gone"))"
  }
}
