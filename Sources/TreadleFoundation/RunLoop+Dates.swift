// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import Foundation
public import Treadle

/// Runs until a date of the calendar, which is taken as it is when the run begins.
extension TreadleRunLoop {
  /// Runs the loop in the default mode until a date, or until nothing is left to wait for (NSR-2). On the loop's own
  /// thread.
  /// - Throws: as `run(until:)` with a `RunLoopInstant`. Since 1.0.
  public func run(until limit: Date) throws(TreadleError) { try run(until: RunLoopInstant(limit)) }

  /// Runs the loop in a mode until an input source was handled, until a date, or until nothing is left to wait for
  /// (NSR-1). On the loop's own thread.
  /// - Returns: false, at once, when the mode is empty, and on another thread than the loop's; else true.
  /// - Throws: as above. Since 1.0.
  @discardableResult
  public func run(in mode: RunLoopMode = .default, before limit: Date) throws(TreadleError) -> Bool {
    try run(in: mode, before: RunLoopInstant(limit))
  }

  /// Runs the loop in a mode once, until an input source was handled or until a date (NSR-4). On the loop's own thread.
  /// - Throws: as above. Since 1.0.
  public func acceptInput(in mode: RunLoopMode = .default, before limit: Date) throws(TreadleError) {
    try acceptInput(in: mode, before: RunLoopInstant(limit))
  }
}

extension RunLoopTimer {
  /// Creates a timer with a first date of the calendar, as it is now, in no mode yet (NST-1). Any thread.
  /// - Parameters:
  ///   - date: a past one fires at the next opportunity. Somebody who sets the clock does not move the timer.
  ///   - interval: in seconds; nil for a one-shot.
  ///   - tolerance: how late it may fire so that wake-ups are shared, in seconds.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the timer's scope; nil: the scope that the thread has entered.
  ///   - endsAfterFiring: a one-shot is invalid after its callback (TMR-15).
  ///   - fire: called with the timer on the loop's thread, never early.
  /// - Throws: as the initialiser with a `RunLoopInstant`. Since 1.0.
  public convenience init(
    at date: Date, repeating interval: TimeInterval? = nil, tolerance: TimeInterval = 0, label: String? = nil,
    scope: RunLoopScope? = nil, endsAfterFiring: Bool = false, fire: @escaping Fire
  ) throws(TreadleError) {
    try self.init(
      at: RunLoopInstant(date), repeating: interval.map { Duration(interval: $0) },
      tolerance: Duration(interval: tolerance),
      label: label, scope: scope, endsAfterFiring: endsAfterFiring, fire: fire)
  }

  /// Makes a timer on the wall clock, in no mode yet: its dates are those that the system's clock shows, also when that
  /// is set or the system has slept meanwhile, in a loop that sleeps too (TMR-24). Any thread.
  /// - Parameters:
  ///   - date: a past one fires at the next opportunity.
  ///   - interval: in seconds; nil for a one-shot.
  ///   - tolerance: how late it may fire so that wake-ups are shared, in seconds.
  ///   - label: what reports call it, of 255 bytes of UTF-8 at most.
  ///   - scope: what the timer belongs to; nil: the scope that the thread has entered.
  ///   - endsAfterFiring: a one-shot is invalid after its callback (TMR-15).
  ///   - fire: called with the timer on the loop's thread when the clock shows the date, never before.
  /// - Throws: as the initialiser with a `RunLoopInstant`. Since 1.0.
  public convenience init(
    onWallClockAt date: Date, repeating interval: TimeInterval? = nil, tolerance: TimeInterval = 0,
    label: String? = nil,
    scope: RunLoopScope? = nil, endsAfterFiring: Bool = false, fire: @escaping Fire
  ) throws(TreadleError) {
    try self.init(
      nanoseconds: date.nanosecondsSince1970, onWallClock: true, repeating: interval.map { Duration(interval: $0) },
      tolerance: Duration(interval: tolerance), label: label, scope: scope, endsAfterFiring: endsAfterFiring, fire: fire
    )
  }

  /// The next date of a timer on the wall clock; nil when it is idle or invalid. Setting one moves the grid, and arms
  /// it again (TMR-24). Of another timer it means nothing. Any thread. Since 1.0.
  public var wallClockFireDate: Date? {
    get { nextFire.map { Date(timeIntervalSince1970: Double($0.nanoseconds) * 1e-9) } }
    set { nextFire = newValue.map { RunLoopInstant(nanoseconds: $0.nanosecondsSince1970) } }
  }

  /// The next date by the calendar, as the system's clock counts now; nil when the timer is idle or invalid. Setting
  /// one moves the grid, and arms it again (NST-4). Any thread. Since 1.0.
  public var fireDate: Date? {
    get { nextFire.map { Date($0) } }
    set { nextFire = newValue.map { RunLoopInstant($0) } }
  }

  /// Creates a timer and adds it to the default mode of the calling thread's loop (NST-1). Any thread.
  /// - Parameters:
  ///   - interval: in seconds; less than 0.0001, also a negative one, counts as 0.0001 (NST-2).
  ///   - repeats: whether it fires again and again.
  ///   - fire: called with the timer on the loop's thread, never early.
  /// - Throws: as `scheduled(every:)` with a `Duration`. Since 1.0.
  @discardableResult
  public static func scheduled(
    withTimeInterval interval: TimeInterval, repeats: Bool, fire: @escaping Fire
  ) throws(TreadleError) -> RunLoopTimer {
    try scheduled(every: Duration(interval: interval), repeats: repeats, fire: fire)
  }
}

extension Date {
  /// Limited to what 64 bits hold; the latest is never.
  fileprivate var nanosecondsSince1970: Int64 {
    let nanoseconds = (timeIntervalSince1970 * 1e9).rounded()
    return Int64(exactly: nanoseconds) ?? (nanoseconds < 0 ? Int64.min : Int64.max)
  }
}
