// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A timer: one-shot, or repeating on an exact grid (TMR-16). Since 1.0.
  public final class RunLoopTimer: RunLoopItem, @unchecked Sendable {
    /// - Parameters:
    ///   - delay: from now to the first date; zero or less fires at the next opportunity (TMR-8).
    ///   - interval: nil for a one-shot; at least a microsecond.
    ///   - tolerance: how late it may fire so that wake-ups are shared (TMR-5).
    ///   - fire: called on the loop's thread, never early.
    /// - Throws: `Failure` when out of memory, or for a negative interval. Since 1.0.
    public init(
      after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero,
      fire: @escaping @Sendable () -> Void
    ) throws(Failure) {
      let closures = ItemClosures(main: { _ in fire() })
      let date = Clock.after(delay.nanoseconds, from: Clock.now())
      super.init(
        try closures.make(order: 0) { options, info throws(Failure) in
          try Item.timer(
            code: ItemClosures.code, info: info, options: options, date: date,
            interval: interval?.nanoseconds ?? 0, tolerance: tolerance.nanoseconds)
        })
    }

    /// The next date in nanoseconds of the monotonic clock; setting it moves the grid (TMR-2, TMR-17). Any thread. Since 1.0.
    public var nextFire: Int64 {
      get { item.nextFire() }
      set { _ = item.setNextFire(newValue) }
    }

    /// Whether it repeats. Since 1.0.
    public var repeats: Bool { item.repeats }
  }
#endif
