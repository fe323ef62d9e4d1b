// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A timer: one-shot, or repeating on an exact grid (TMR-16). A one-shot that has fired is idle, and can be armed again as long
  /// as this object is there (TMR-24). Since 1.0.
  public final class RunLoopTimer: RunLoopItem, @unchecked Sendable {
    /// - Parameters:
    ///   - delay: from now to the first date; zero or less fires at the next opportunity (TMR-8).
    ///   - interval: nil for a one-shot; at least a microsecond.
    ///   - tolerance: how late it may fire so that wake-ups are shared (TMR-5).
    ///   - label: what reports call it, of 255 bytes of UTF-8 at most.
    ///   - endsAfterFiring: a one-shot is invalid after its callback (TMR-15).
    ///   - fire: called on the loop's thread, never early.
    /// - Throws: `Failure` when out of memory, or for a negative interval. Since 1.0.
    public init(
      after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero,
      label: String? = nil, endsAfterFiring: Bool = false,
      fire: @escaping @Sendable () -> Void
    ) throws(Failure) {
      let closures = ItemClosures(main: { _ in fire() })
      let date = Clock.after(delay.nanoseconds, from: Clock.now())
      super.init(
        try closures.make(order: 0, label: label) { context, info throws(Failure) in
          try Item.timer(
            code: ItemClosures.code, info: info, context: context, date: date,
            interval: interval?.nanoseconds ?? 0, tolerance: tolerance.nanoseconds,
            ends: endsAfterFiring)
        })
    }

    /// The next date in nanoseconds of the monotonic clock; 0 when it is idle or invalid. Setting it moves the grid, and arms it
    /// again (TMR-2, TMR-17, TMR-24). Any thread. Since 1.0.
    public var nextFire: Int64 {
      get { item.nextFire() }
      set { _ = item.setNextFire(.at(newValue)) }
    }

    /// Arms it again: to fire after a delay, which counts from the time of the pass on its loop's thread, and anywhere else from
    /// now (TMR-24). Any thread, also inside its own callback.
    /// - Returns: false if it is invalid. Since 1.0.
    @discardableResult
    public func arm(after delay: Duration) -> Bool {
      item.setNextFire(.after(delay.nanoseconds)) == Status.ok
    }

    /// Leaves it without a date: idle, and nothing that a loop waits for, until it is armed (TMR-24). Any thread. Since 1.0.
    public func disarm() { _ = item.setNextFire(.at(Clock.forever)) }

    /// Whether it repeats (OBJ-5). Any thread. Since 1.0.
    public var repeats: Bool { item.repeats }

    /// The interval; zero for a one-shot (NST-2, OBJ-5). Any thread. Since 1.0.
    public var interval: Duration { .nanoseconds(item.interval) }

    /// How late it may fire so that wake-ups are shared, from zero to half an interval (TMR-5). Any thread. Since 1.0.
    public var tolerance: Duration { .nanoseconds(item.currentTolerance()) }

    /// Sets the tolerance; less than zero counts as zero, more than half an interval as half (TMR-5). Any thread.
    /// - Throws: `Failure` when out of memory. Since 1.0.
    public func setTolerance(_ tolerance: Duration) throws(Failure) { _ = try item.setTolerance(tolerance.nanoseconds) }

    /// Makes a timer and adds it to the default mode of the calling thread's loop, which keeps it (NST-1, NST-5). One that does
    /// not repeat is invalid after its callback (NST-3). Any thread.
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
      let timer = try RunLoopTimer(after: step, repeating: repeats ? step : nil, endsAfterFiring: true, fire: fire)
      _ = try loop.addToDefaultMode(new: timer.item)
      return timer
    }

    /// Calls the timer's callback here and now, on the calling thread. A one-shot is idle afterwards, or invalid, as if it were
    /// due; the dates of a repeating timer are not touched (NST-3). Any thread.
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
