// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import Foundation
public import Treadle

extension RunLoopInstant {
  /// The monotonic date that comes in as long as this one of the calendar does, as the system's clock counts now.
  /// Somebody who sets the clock afterwards does not move it. Too far away: `.distantPast`, `.distantFuture`. Since
  /// 1.0.
  public init(_ date: Date) {
    // Read first, so that a pause between the clocks makes the date later, never earlier.
    let rest = Duration(interval: date.timeIntervalSinceNow)
    self = RunLoopInstant.now.advanced(by: rest)
  }
}

extension Date {
  /// The date of the calendar that comes in as long as this monotonic one does, as the system's clock counts now. Since
  /// 1.0.
  public init(_ instant: RunLoopInstant) {
    switch instant {
    case .distantFuture: self = .distantFuture
    case .distantPast: self = .distantPast
    default: self.init(timeIntervalSinceNow: RunLoopInstant.now.duration(to: instant).interval)
    }
  }
}

extension Duration {
  /// So many seconds, to the nanosecond; what is too long is the longest that run loops count, nearly 300 years, and
  /// what is no number is zero. Since 1.0.
  public init(interval: TimeInterval) {
    let nanoseconds = (interval * 1e9).rounded()
    self = .nanoseconds(
      nanoseconds.isNaN ? 0 : Int64(exactly: nanoseconds) ?? (nanoseconds < 0 ? Int64.min : Int64.max))
  }

  /// In seconds. Since 1.0.
  public var interval: TimeInterval { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
