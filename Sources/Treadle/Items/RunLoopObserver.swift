// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// An activity of a loop, before or after it acts (OBS-1). Since 1.0.
public struct RunLoopActivity: OptionSet, Hashable, Sendable {
  /// CFRunLoop's bits. Since 1.0.
  public let rawValue: UInt32
  /// A set of these bits. Since 1.0.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  private init(_ bits: Int) { rawValue = UInt32(truncatingIfNeeded: bits) }

  /// A run begins: once a run (OBS-9). Since 1.0.
  public static let entry = RunLoopActivity(TREADLE_ENTRY)
  /// A pass begins. Since 1.0.
  public static let beforeTimers = RunLoopActivity(TREADLE_BEFORE_TIMERS)
  /// Sources are about to be performed. Since 1.0.
  public static let beforeSources = RunLoopActivity(TREADLE_BEFORE_SOURCES)
  /// The loop is about to sleep. Since 1.0.
  public static let beforeWaiting = RunLoopActivity(TREADLE_BEFORE_WAITING)
  /// The loop woke, and has not handled yet what woke it. Since 1.0.
  public static let afterWaiting = RunLoopActivity(TREADLE_AFTER_WAITING)
  /// A run ends: once a run. Since 1.0.
  public static let exit = RunLoopActivity(TREADLE_EXIT)
  /// Every activity of a run. Since 1.0.
  public static let all = RunLoopActivity(TREADLE_ALL_ACTIVITIES)
  /// `RunLoop.prepare` is called: another loop is about to wait for this one. Since 1.0.
  public static let prepare = RunLoopActivity(TREADLE_PREPARE)
}

extension RunLoopActivity: CustomStringConvertible {
  /// The names of what is in it. Since 1.0.
  public var description: String {
    names(
      of: self,
      [
        (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
        (.beforeWaiting, "beforeWaiting"),
        (.afterWaiting, "afterWaiting"), (.exit, "exit"), (.prepare, "prepare"),
      ])
  }
}

/// Told of a loop's activities, in ascending order (OBS-2). Does not keep a mode from being empty. Since 1.0.
public final class RunLoopObserver: RunLoopItem, @unchecked Sendable {
  private typealias Notify = @Sendable (RunLoopObserver, RunLoopActivity) throws -> Void

  private final class Bodies: ItemBody, @unchecked Sendable {
    let notify: Notify
    init(_ notify: @escaping Notify) { self.notify = notify }
  }

  /// Creates an observer, in no mode yet. Any thread.
  /// - Parameters:
  ///   - activities: the activities to be called for.
  ///   - order: the smaller is called first; equal ones in the order of adding.
  ///   - once: invalidated after its first call (OBS-6).
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the observer's scope; nil: the scope that the thread has entered.
  ///   - notify: called with the observer and one activity at a time, on the loop's thread. An error that it throws is
  ///     passed to the last-resort handler (THR-19).
  /// - Throws: `TreadleError` when out of memory, for a label that is too long, or when the scope is closed. Since 1.0.
  public convenience init(
    of activities: RunLoopActivity = .all, order: Int64 = 0, once: Bool = false, label: String? = nil,
    scope: RunLoopScope? = nil, notify: @escaping @Sendable (RunLoopObserver, RunLoopActivity) throws -> Void
  ) throws(TreadleError) {
    self.init(
      owning: try makeItem(of: Bodies(notify), label: label) { info, label, handle in
        var context = treadle_observer_context()
        context.struct_size = MemoryLayout<treadle_observer_context>.size
        context.info = info
        context.release = releaseBody
        context.notify = { observer, activity, info in
          ItemBody.lend(observer, info) { (own: Bodies, observer: RunLoopObserver) in
            try own.notify(observer, RunLoopActivity(rawValue: activity))
          }
        }
        context.activities = activities.rawValue
        context.once = once ? 1 : 0
        context.order = order
        context.label = label
        return scope.use {
          context.scope = $0
          return treadle_observer_create(&context, handle)
        }
      })
  }
}
