// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The monotonic clock in nanoseconds, the time base of every date and deadline.
package enum Clock {
  package static let forever = Int64.max

  @inline(__always)
  package static func now() -> Int64 { treadle_system_now() }

  /// What it was at the kernel's last tick, some milliseconds ago at most. To look at that takes a quarter of the time.
  @inline(__always)
  package static var lastTick: Int64 { treadle_system_tick() }

  /// A date so far from now; the clock is not read for `forever`.
  @inline(__always)
  package static func after(_ delay: Int64) -> Int64 { delay == forever ? forever : after(delay, from: now()) }

  /// The same from a moment that is known, limited to what the clock can express.
  @inline(__always)
  package static func after(_ delay: Int64, from now: Int64) -> Int64 {
    if delay == forever { return forever }
    let (sum, overflow) = now.addingReportingOverflow(delay)
    return overflow ? (delay > 0 ? forever : Int64.min) : sum
  }

  /// Seconds as nanoseconds, rounded up and limited; nil for NaN.
  package static func nanoseconds(_ seconds: Double) -> Int64? {
    if seconds != seconds { return nil }
    let exact = seconds * 1e9
    if exact >= 9.2e18 { return forever }
    if exact <= -9.2e18 { return -forever }
    let whole = Int64(exact)
    return Double(whole) < exact ? whole + 1 : whole
  }

  /// From now until a date, in whole milliseconds, rounded up; a negative number for ever.
  package static func milliseconds(until date: Int64) -> Int32 {
    if date == forever { return -1 }
    let now = Clock.now()
    if date <= now { return 0 }
    return Int32(truncatingIfNeeded: min((date &- now) / 1_000_000 &+ 1, Int64(Int32.max)))
  }

  // MARK: The wall clock, in nanoseconds since 1970

  package static func wall() -> Int64 { treadle_system_wall() }

  /// How far the wall clock is ahead of the monotonic one. Looked at in this order, no date that is converted by it is
  /// early.
  package static func wallOffset() -> Int64 {
    let wall = treadle_system_wall()
    return wall &- now()
  }

  /// The monotonic time of a date on the wall clock.
  package static func monotonic(wall date: Int64, offset: Int64) -> Int64 {
    if date == forever { return forever }
    let (time, overflow) = date.subtractingReportingOverflow(offset)
    return overflow ? (offset > 0 ? Int64.min : forever &- 1) : min(time, forever &- 1)
  }

  // MARK: Calendar dates, in seconds since 2001

  private static let secondsFrom1970: Double = 978_307_200
  private static let latestDate: Double = 4_039_289_856  // about the year 2129

  private static var wallNow: Double { Double(treadle_system_wall()) / 1e9 - secondsFrom1970 }

  /// The monotonic time of a calendar date, as of now; nil for NaN.
  package static func monotonic(date: Double) -> Int64? {
    guard let distance = nanoseconds(min(max(date, -latestDate), latestDate) - wallNow) else { return nil }
    return date != date ? nil : after(distance, from: now())
  }

  /// The calendar date of a monotonic time, as of now.
  package static func date(monotonic time: Int64) -> Double {
    wallNow + (Double(time) - Double(now())) / 1e9
  }
}
