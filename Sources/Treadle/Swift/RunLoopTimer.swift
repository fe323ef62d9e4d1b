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

    /// Whether it repeats (OBJ-5). Any thread. Since 1.0.
    public var repeats: Bool { item.repeats }

    /// The interval; zero for a one-shot (NST-2, OBJ-5). Any thread. Since 1.0.
    public var interval: Duration { .nanoseconds(item.interval) }

    /// How late it may fire so that wake-ups are shared, from zero to half an interval (TMR-5). Any thread. Since 1.0.
    public var tolerance: Duration { .nanoseconds(item.currentTolerance()) }

    /// Sets the tolerance; less than zero counts as zero, more than half an interval as half (TMR-5). Any thread.
    /// - Throws: `Failure` when out of memory. Since 1.0.
    public func setTolerance(_ tolerance: Duration) throws(Failure) { _ = try item.setTolerance(tolerance.nanoseconds) }

    /// Makes a timer and adds it to the default mode of the calling thread's loop, which keeps it (NST-1, NST-5).
    /// Any thread.
    /// - Parameters:
    ///   - interval: from now to the first date, and with `repeats` from each date to the next; less than 100
    ///     microseconds, also a negative one, counts as 100 microseconds (NST-2).
    ///   - repeats: whether it fires again and again.
    ///   - fire: called on the loop's thread, never early.
    /// - Throws: `Failure` when out of memory, or in the child of a fork. Since 1.0.
    @discardableResult
    public static func scheduled(
      every interval: Duration, repeats: Bool = true, fire: @escaping @Sendable () -> Void
    ) throws(Failure) -> RunLoopTimer {
      let loop = try Loop.current()
      let step = max(interval, .microseconds(100))
      let timer = try RunLoopTimer(after: step, repeating: repeats ? step : nil, fire: fire)
      _ = try loop.addToDefaultMode(timer.item)
      return timer
    }

    /// Calls the timer's callback here and now, on the calling thread. A one-shot is invalid afterwards; the dates of a
    /// repeating timer are not touched (NST-3). Any thread.
    /// - Returns: false, without a call, when it is invalid, when its callback runs already, or after a shutdown.
    ///   Since 1.0.
    @discardableResult
    public func fire() -> Bool {
      item.holdAgain()
      defer { item.letGo() }
      return (try? item.fireByHand()) == Status.ok
    }
  }
#endif
