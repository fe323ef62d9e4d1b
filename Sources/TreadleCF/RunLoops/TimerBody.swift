// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// A timer: what Treadle does not keep for it.
struct TimerBody: ItemBody {
  static var kind: Kind { .timer }

  var base: ItemBase
  let callout: treadle_cf_timer_fn?
  /// The info is a block, in place of the callout.
  let isBlock: Bool
  let order: Int
  /// As they were asked for, and as Treadle has them: dates are reported bit for bit. The date and its time change
  /// together, under LOCK_SHARED.
  let interval: Double
  let step: Int64
  var date: Double
  var time: Int64
  /// While the timer fires: the one that fires around it on this thread.
  var outer: UInt = 0

  /// The date of one of the timer's times; called under LOCK_SHARED.
  func date(of moment: Int64) -> Double { moment == time ? date : Calendar.date(moment) }
}

/// Times as dates. Both directions use one offset between the clocks, which is looked at with each use, and kept until
/// the wall clock is a millisecond off: so a date that was made a time is the same date again. Dates so long past that
/// nanoseconds cannot count them are as many steps of a floating number before those that can.
enum Calendar {
  private static var second: Int64 { 1_000_000_000 }

  private static var first: Double { -2e9 }
  private static var longPast: Int64 { -4_700_000_000_000_000_000 }

  static func date(_ moment: Int64) -> Double {
    if moment <= longPast {
      return -Double(bitPattern: UInt64(bitPattern: longPast &- moment) &+ first.magnitude.bitPattern)
    }
    let (since, overflow) = moment.subtractingReportingOverflow(offset())
    if overflow { return treadle_time_to_absolute(moment) }
    return Double(since / second) + Double(since % second) / 1e9
  }

  /// The time of a date that is not after the last one; nil for what is no number.
  static func time(_ date: Double) -> Int64? {
    if date.isNaN { return nil }
    if date <= first { return longPast &- Int64(bitPattern: date.magnitude.bitPattern &- first.magnitude.bitPattern) }
    let whole = Int64(date)
    let rest = (date - Double(whole)) * 1e9
    return whole &* second &+ Int64(rest < 0 ? rest - 0.5 : rest + 0.5) &+ offset()
  }

  /// The time of the date 0.
  private static func offset() -> Int64 {
    let kept = treadle_cf_load_offset()
    var seen = look()
    while !isNear(seen, kept) {
      // A thread may have been held up between the two clocks, but not for as long twice in a row.
      let again = look()
      if isNear(again, seen) {
        treadle_cf_store_offset(again)
        return again
      }
      seen = again
    }
    return kept
  }

  private static func look() -> Int64 {
    var time: Int64 = 0
    _ = treadle_time_from_absolute(0, &time)
    return time
  }

  private static func isNear(_ one: Int64, _ other: Int64) -> Bool { (one &- other).magnitude < 1_000_000 }
}

/// The timers that fire on the calling thread: one, and those around it in nested runs. Treadle's next date of a mode
/// leaves them out, CoreFoundation's does not.
enum FiringTimers {
  static func begin(_ timer: UInt, _ body: UnsafeMutablePointer<TimerBody>) {
    body.pointee.outer = treadle_cf_firing()
    treadle_cf_set_firing(timer)
  }

  static func end(_ body: UnsafeMutablePointer<TimerBody>) { treadle_cf_set_firing(body.pointee.outer) }

  /// The earliest date of those that are in a mode.
  static func nextDate(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>) -> Double? {
    var timer = treadle_cf_firing()
    var next: Double?
    while timer != 0 {
      let date = cfRunLoopTimerGetNextFireDate(timer)
      timer = access(timer, "CFRunLoopGetNextTimerFireDate", 0) { (body: Pointer<TimerBody>) in
        if date != 0, treadle_loop_contains_timer(loop, body.pointee.handle, mode) { next = min(next ?? date, date) }
        return body.pointee.outer
      }
    }
    return next
  }
}

/// Calls `work` under the lock that guards the dates of timers.
func lockingDates<Result>(_ work: () -> Result) -> Result {
  treadle_cf_lock(Int32(TREADLE_CF_LOCK_SHARED))
  let result = work()
  treadle_cf_unlock(Int32(TREADLE_CF_LOCK_SHARED))
  return result
}
