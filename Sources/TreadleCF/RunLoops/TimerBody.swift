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
  /// As they were asked for, and as Treadle has them: dates are reported bit for bit.
  let interval: Double
  let step: Int64
  var date: Double
  var time: Int64
  /// The other timers of the process.
  var next: UnsafeMutablePointer<TimerBody>?
  var previous: UnsafeMutablePointer<TimerBody>?

  /// The date of one of the timer's times; called under LOCK_SHARED.
  func date(of moment: Int64) -> Double {
    if moment == time { return date }
    let passed = moment &- time
    // On the grid, from the date that was asked for, so that the wall clock's steps do not show.
    return step > 0 && passed % step == 0 ? date + Double(passed / step) * interval : treadle_time_to_absolute(moment)
  }
}

/// The dates of timers as calendar dates.
enum TimerDates {
  private static var first: UnsafeMutablePointer<TimerBody>? {
    UnsafeMutableRawPointer(bitPattern: treadle_cf_shared().pointee.timers)?.assumingMemoryBound(to: TimerBody.self)
  }

  private static func setFirst(_ timer: UnsafeMutablePointer<TimerBody>?) { treadle_cf_shared().pointee.timers = UInt(bitPattern: timer) }

  static func locked<Result>(_ work: () -> Result) -> Result {
    treadle_cf_lock(Int32(TREADLE_CF_LOCK_SHARED))
    let result = work()
    treadle_cf_unlock(Int32(TREADLE_CF_LOCK_SHARED))
    return result
  }

  static func remember(_ timer: UnsafeMutablePointer<TimerBody>) {
    locked {
      timer.pointee.next = first
      first?.pointee.previous = timer
      setFirst(timer)
    }
  }

  static func forget(_ timer: UnsafeMutablePointer<TimerBody>) {
    locked {
      if let next = timer.pointee.next { next.pointee.previous = timer.pointee.previous }
      if let previous = timer.pointee.previous {
        previous.pointee.next = timer.pointee.next
      } else if first == timer {
        setFirst(timer.pointee.next)
      }
    }
  }

  /// The calendar date of a moment at which a mode's next timer fires.
  static func date(of moment: Int64, loop: OpaquePointer?, mode: UnsafePointer<CChar>) -> Double {
    locked {
      var timer = first
      while let body = timer {
        var time: Int64 = 0
        if treadle_timer_get_next_fire(body.pointee.handle, &time) >= 0, time == moment,
          treadle_loop_contains_timer(loop, body.pointee.handle, mode)
        {
          return body.pointee.date(of: moment)
        }
        timer = body.pointee.next
      }
      return treadle_time_to_absolute(moment)
    }
  }
}
