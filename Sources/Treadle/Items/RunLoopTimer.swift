// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A timer: one-shot, or repeating on an exact grid (TMR-16). A one-shot that has fired is idle, and can be armed again
/// as long as this object is there (TMR-24). Since 1.0.
public final class RunLoopTimer: RunLoopItem, @unchecked Sendable {
  /// The body of a timer. Since 1.0.
  public typealias Fire = @Sendable (RunLoopTimer) throws -> Void

  private final class Bodies: ItemBody, @unchecked Sendable {
    let fire: Fire
    init(_ fire: @escaping Fire) { self.fire = fire }
  }

  /// Creates a timer, in no mode yet. Any thread.
  /// - Parameters:
  ///   - delay: from now to the first date; zero or less fires at the next opportunity (TMR-8).
  ///   - interval: nil for a one-shot; at least a microsecond.
  ///   - tolerance: how late it may fire so that wake-ups are shared (TMR-5).
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the timer's scope; nil: the scope that the thread has entered.
  ///   - endsAfterFiring: a one-shot is invalid after its callback (TMR-15).
  ///   - fire: called with the timer on the loop's thread, never early. An error that it throws goes to the last-resort
  ///     handler (THR-19).
  /// - Throws: `TreadleError` when out of memory, for a negative interval or a label that is too long, or when the
  ///   scope is closed. Since 1.0.
  public convenience init(
    after delay: Duration, repeating interval: Duration? = nil, tolerance: Duration = .zero, label: String? = nil,
    scope: RunLoopScope? = nil, endsAfterFiring: Bool = false, fire: @escaping Fire
  ) throws(TreadleError) {
    try self.init(
      at: RunLoopInstant(nanoseconds: date(after: delay)), repeating: interval, tolerance: tolerance, label: label,
      scope: scope,
      endsAfterFiring: endsAfterFiring, fire: fire)
  }

  /// Creates a timer with a date, in no mode yet. Any thread.
  /// - Parameters:
  ///   - date: the first date; a past one fires at the next opportunity (TMR-8).
  ///   - interval: nil for a one-shot; at least a microsecond.
  ///   - tolerance: how late it may fire so that wake-ups are shared (TMR-5).
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the timer's scope; nil: the scope that the thread has entered.
  ///   - endsAfterFiring: a one-shot is invalid after its callback (TMR-15).
  ///   - fire: called with the timer on the loop's thread, never early. An error that it throws goes to the last-resort
  ///     handler (THR-19).
  /// - Throws: as above. Since 1.0.
  public convenience init(
    at date: RunLoopInstant, repeating interval: Duration? = nil, tolerance: Duration = .zero, label: String? = nil,
    scope: RunLoopScope? = nil, endsAfterFiring: Bool = false, fire: @escaping Fire
  ) throws(TreadleError) {
    try self.init(
      nanoseconds: date.nanoseconds, onWallClock: false, repeating: interval, tolerance: tolerance, label: label,
      scope: scope,
      endsAfterFiring: endsAfterFiring, fire: fire)
  }

  /// With a date of the monotonic clock, or of the wall clock: nanoseconds since 1970 (TMR-24). `TreadleFoundation` has
  /// the latter's type.
  package convenience init(
    nanoseconds date: Int64, onWallClock: Bool, repeating interval: Duration?, tolerance: Duration, label: String?,
    scope: RunLoopScope?, endsAfterFiring: Bool, fire: @escaping Fire
  ) throws(TreadleError) {
    self.init(
      owning: try makeItem(of: Bodies(fire), label: label) { info, label, handle in
        var context = treadle_timer_context()
        context.struct_size = MemoryLayout<treadle_timer_context>.size
        context.info = info
        context.release = releaseBody
        context.fire = { timer, info in
          ItemBody.lend(timer, info) { (own: Bodies, timer: RunLoopTimer) in try own.fire(timer) }
        }
        context.fire_at = date
        context.interval_ns = interval?.nanoseconds ?? 0
        context.tolerance_ns = tolerance.nanoseconds
        context.label = label
        context.flags = UInt32(
          (endsAfterFiring ? TREADLE_TIMER_ENDS_AFTER_FIRING : 0) | (onWallClock ? TREADLE_TIMER_WALL_CLOCK : 0))
        return scope.use {
          context.scope = $0
          return treadle_timer_create(&context, handle)
        }
      })
  }

  /// The next date; nil when the timer is idle or invalid. Setting one moves the grid, and arms it again; nil leaves it
  /// without a date (TMR-2, TMR-17, TMR-24). Of a timer on the wall clock `TreadleFoundation` tells the date. Any
  /// thread. Since 1.0.
  public var nextFire: RunLoopInstant? {
    get {
      var date: Int64 = 0
      _ = treadle_timer_get_next_fire(handle, &date)
      return date == 0 ? nil : RunLoopInstant(nanoseconds: date)
    }
    set { _ = treadle_timer_set_next_fire(handle, newValue?.nanoseconds ?? Int64.max) }
  }

  /// Arms it again: to fire after a delay, which counts from the time of the running callback (TMR-24). Any thread,
  /// also inside its own callback.
  /// - Returns: false if it is invalid. Since 1.0.
  @discardableResult
  public func arm(after delay: Duration) -> Bool { treadle_timer_arm(handle, delay.nanoseconds) == TREADLE_OK }

  /// Leaves it without a date: idle, and nothing that a loop waits for, until it is armed (TMR-24). Any thread. Since
  /// 1.0.
  public func disarm() { _ = treadle_timer_set_next_fire(handle, Int64.max) }

  /// Whether it repeats (OBJ-5). Any thread. Since 1.0.
  public var repeats: Bool { treadle_timer_repeats(handle) }

  /// The interval; zero for a one-shot (NST-2, OBJ-5). Any thread. Since 1.0.
  public var interval: Duration {
    var interval: Int64 = 0
    _ = treadle_timer_get_interval(handle, &interval)
    return .nanoseconds(interval)
  }

  /// How late it may fire so that wake-ups are shared, from zero to half an interval (TMR-5). Any thread. Since 1.0.
  public var tolerance: Duration {
    var tolerance: Int64 = 0
    _ = treadle_timer_get_tolerance(handle, &tolerance)
    return .nanoseconds(tolerance)
  }

  /// Sets the tolerance; less than zero counts as zero, more than half an interval as half (TMR-5). Any thread.
  /// - Throws: `TreadleError` when out of memory. Since 1.0.
  public func setTolerance(_ tolerance: Duration) throws(TreadleError) {
    try check(treadle_timer_set_tolerance(handle, tolerance.nanoseconds))
  }

  /// Creates a timer and adds it to the default mode of the calling thread's loop, which keeps it (NST-1, NST-5). One
  /// that does not repeat is invalid after its callback (NST-3). Any thread.
  /// - Parameters:
  ///   - interval: from now to the first date, and with `repeats` from each date to the next; less than 100
  ///     microseconds, also a negative one, counts as 100 microseconds (NST-2).
  ///   - repeats: whether it fires again and again.
  ///   - fire: called with the timer on the loop's thread, never early.
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  @discardableResult
  public static func scheduled(
    every interval: Duration, repeats: Bool = true, fire: @escaping Fire
  ) throws(TreadleError) -> RunLoopTimer {
    let step = max(interval, .microseconds(100))
    return try RunLoopTimer(after: step, repeating: repeats ? step : nil, endsAfterFiring: true, fire: fire).start()
  }

  /// Calls the timer's callback immediately, on the calling thread. A one-shot is idle afterwards, or invalid, as if it
  /// were due; the dates of a repeating timer are not touched (NST-3). Any thread.
  /// - Returns: false, without a call, when it is invalid, when its callback runs already, or after a shutdown.
  ///   Since 1.0.
  @discardableResult
  public func fire() -> Bool { treadle_timer_fire(handle) == TREADLE_OK }
}
