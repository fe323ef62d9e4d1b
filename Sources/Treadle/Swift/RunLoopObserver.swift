// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// What a loop is about to do, or has just done (OBS-1). Since 1.0.
  public struct RunLoopActivity: OptionSet, Sendable {
    /// CFRunLoop's bits. Since 1.0.
    public let rawValue: UInt32
    /// A set of these bits. Since 1.0.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A run begins: once a run (OBS-9). Since 1.0.
    public static let entry = RunLoopActivity(rawValue: Activity.entry)
    /// A pass begins. Since 1.0.
    public static let beforeTimers = RunLoopActivity(rawValue: Activity.beforeTimers)
    /// Sources are about to be performed. Since 1.0.
    public static let beforeSources = RunLoopActivity(rawValue: Activity.beforeSources)
    /// The loop is about to sleep. Since 1.0.
    public static let beforeWaiting = RunLoopActivity(rawValue: Activity.beforeWaiting)
    /// The loop woke, and has not handled yet what woke it. Since 1.0.
    public static let afterWaiting = RunLoopActivity(rawValue: Activity.afterWaiting)
    /// A run ends: once a run. Since 1.0.
    public static let exit = RunLoopActivity(rawValue: Activity.exit)
    /// Everything. Since 1.0.
    public static let all = RunLoopActivity(rawValue: Activity.all)
  }

  /// Told of a loop's activities, in ascending order (OBS-2). Does not keep a mode from being empty. Since 1.0.
  public final class RunLoopObserver: RunLoopItem, @unchecked Sendable {
    /// - Parameters:
    ///   - activities: what to be told.
    ///   - once: invalidated after its first call (OBS-6).
    ///   - label: what reports call it, of 255 bytes of UTF-8 at most.
    ///   - notify: called with one activity at a time, on the loop's thread.
    /// - Throws: `Failure` when out of memory. Since 1.0.
    public init(
      of activities: RunLoopActivity = .all, order: Int64 = 0, once: Bool = false, label: String? = nil,
      notify: @escaping @Sendable (RunLoopActivity) -> Void
    ) throws(Failure) {
      let closures = ItemClosures(main: { notify(RunLoopActivity(rawValue: $0)) })
      super.init(
        try closures.make(order: order, label: label) { context, info throws(Failure) in
          try Item.observer(
            code: ItemClosures.codeWithValue, info: info, context: context, activities: activities.rawValue, once: once)
        })
    }
  }
#endif
