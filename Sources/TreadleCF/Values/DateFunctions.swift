// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A date as an object.
struct DateBody: Body {
  static var kind: Kind { .date }
  let date: Double
}

@_cdecl("CFAbsoluteTimeGetCurrent") public func cfAbsoluteTimeGetCurrent() -> Double { treadle_cf_now() }
@_cdecl("CFDateGetTypeID") public func cfDateGetTypeID() -> UInt { Kind.date.typeID }

@_cdecl("CFDateCreate")
public func cfDateCreate(_ allocator: UInt, _ date: Double) -> UInt { Slot.make(.date, allocate(DateBody(date: date))) }

func dateOf(_ date: UInt, _ function: StaticString) -> Double {
  access(date, function, 0) { (date: Pointer<DateBody>) in date.pointee.date }
}

@_cdecl("CFDateGetAbsoluteTime")
public func cfDateGetAbsoluteTime(_ date: UInt) -> Double { dateOf(date, "CFDateGetAbsoluteTime") }

@_cdecl("CFDateGetTimeIntervalSinceDate")
public func cfDateGetTimeIntervalSinceDate(_ date: UInt, _ other: UInt) -> Double {
  dateOf(date, "CFDateGetTimeIntervalSinceDate") - dateOf(other, "CFDateGetTimeIntervalSinceDate")
}

@_cdecl("CFDateCompare")
public func cfDateCompare(_ date: UInt, _ other: UInt, _ context: UnsafeMutableRawPointer?) -> Int {
  let one = dateOf(date, "CFDateCompare"), two = dateOf(other, "CFDateCompare")
  return one < two ? -1 : one > two ? 1 : 0
}
