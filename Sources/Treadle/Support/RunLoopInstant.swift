// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A date of the monotonic clock on which run loops count: the time base of every date here (RUN-14). It stands still
/// while the system sleeps, as `SuspendingClock` does. Since 1.0.
public struct RunLoopInstant: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds of CLOCK_MONOTONIC, as the C interface counts them. Since 1.0.
  public var nanoseconds: Int64

  /// The date of so many nanoseconds. Since 1.0.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// A date of the clock that stands still while the system sleeps, exactly: it is the same clock. Since 1.0.
  public init(_ instant: SuspendingClock.Instant) {
    nanoseconds = SuspendingClock().systemEpoch.duration(to: instant).nanoseconds
  }

  /// The date that comes in as long as the other one does, from now: the clock that goes on while the system sleeps
  /// does not move it afterwards. Since 1.0.
  public init(_ instant: ContinuousClock.Instant) {
    // Read first, so that a pause between the clocks makes the date later, never earlier.
    let rest = ContinuousClock.now.duration(to: instant)
    self = RunLoopInstant.now.advanced(by: rest)
  }

  /// Now. Since 1.0.
  public static var now: RunLoopInstant { RunLoopInstant(nanoseconds: treadle_time_now()) }

  /// A date that has passed. Since 1.0.
  public static let distantPast = RunLoopInstant(nanoseconds: Int64.min)
  /// A date that never comes. Since 1.0.
  public static let distantFuture = RunLoopInstant(nanoseconds: Int64.max)

  /// The date that is so much later; at most the latest there is. Since 1.0.
  public func advanced(by duration: Duration) -> RunLoopInstant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
    return RunLoopInstant(nanoseconds: overflow ? (duration < .zero ? Int64.min : Int64.max) : sum)
  }

  /// How long it takes from this date to the other. Since 1.0.
  public func duration(to other: RunLoopInstant) -> Duration {
    .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  /// The order of dates. Since 1.0.
  public static func < (left: RunLoopInstant, right: RunLoopInstant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The date that is so much later. Since 1.0.
  public static func + (date: RunLoopInstant, duration: Duration) -> RunLoopInstant { date.advanced(by: duration) }
  /// How long it takes from the second date to the first. Since 1.0.
  public static func - (date: RunLoopInstant, other: RunLoopInstant) -> Duration { other.duration(to: date) }
}

extension RunLoopInstant: CustomStringConvertible {
  /// Seconds of the monotonic clock. Since 1.0.
  public var description: String {
    switch self {
    case .distantPast: "distant past"
    case .distantFuture: "distant future"
    default: "RunLoopInstant(\(Duration.nanoseconds(nanoseconds)))"
    }
  }
}

extension SuspendingClock.Instant {
  /// The same date, exactly: run loops count on this clock. Since 1.0.
  public init(_ instant: RunLoopInstant) {
    self = SuspendingClock().systemEpoch.advanced(by: .nanoseconds(instant.nanoseconds))
  }
}

extension ContinuousClock.Instant {
  /// The date that comes in as long as the other one does, from now, if the system does not sleep meanwhile. Since 1.0.
  public init(_ instant: RunLoopInstant) {
    let rest = RunLoopInstant.now.duration(to: instant)
    self = ContinuousClock.now.advanced(by: rest)
  }
}
