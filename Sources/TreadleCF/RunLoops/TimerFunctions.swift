// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

@_cdecl("CFRunLoopTimerGetTypeID") public func cfRunLoopTimerGetTypeID() -> UInt { Kind.timer.typeID }

@_cdecl("CFRunLoopTimerCreate")
public func cfRunLoopTimerCreate(
  _ allocator: UInt, _ date: Double, _ interval: Double, _ flags: UInt, _ order: Int, _ callout: treadle_cf_timer_fn?,
  _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  make(date, interval, order, ClientContext(context), callout, isBlock: false, "CFRunLoopTimerCreate")
}

@_cdecl("CFRunLoopTimerCreateWithHandler")
public func cfRunLoopTimerCreateWithHandler(
  _ allocator: UInt, _ date: Double, _ interval: Double, _ flags: UInt, _ order: Int, _ block: UInt
) -> UInt {
  let copy = treadle_cf_block_copy(block)
  if copy == 0 {
    complain("CFRunLoopTimerCreateWithHandler")
    return 0
  }
  let timer = make(
    date, interval, order, ClientContext(block: copy), nil, isBlock: true, "CFRunLoopTimerCreateWithHandler")
  treadle_cf_block_release(copy)
  return timer
}

/// The last date that a timer can have; later ones mean this one. What is no number stays so.
private func limited(_ date: Double) -> Double {
  let last = 4_039_289_856.0
  return date > last ? last : date
}

private func make(
  _ date: Double, _ interval: Double, _ order: Int, _ client: ClientContext, _ callout: treadle_cf_timer_fn?,
  isBlock: Bool, _ function: StaticString
) -> UInt {
  var step: Int64 = 0
  let date = limited(date)
  guard let time = Calendar.time(date), treadle_time_from_seconds(interval, &step) >= 0 else {
    complain(function)
    return 0
  }
  let body = TimerBody(
    base: ItemBase(client: client), callout: callout, isBlock: isBlock, order: order, interval: interval, step: step,
    date: date, time: time)
  let timer = Slot.make(.timer, allocate(body))
  if timer == 0 { return 0 }
  var context = treadle_timer_context()
  context.struct_size = MemoryLayout<treadle_timer_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: timer)
  context.retain = retainItem
  context.release = releaseItem
  context.describe = describeItem
  context.fire = fire
  context.fire_at = time
  context.interval_ns = max(step, 0)
  context.flags = UInt32(TREADLE_TIMER_ENDS_AFTER_FIRING)
  return finish(timer) { treadle_timer_create(&context, &$0) }
}

private func fire(_ handle: OpaquePointer?, _ info: UnsafeMutableRawPointer?) {
  let timer = UInt(bitPattern: info)
  access(timer, "CFRunLoopTimerCallBack", ()) { (body: Pointer<TimerBody>) in
    FiringTimers.begin(timer, body)
    if body.pointee.isBlock {
      treadle_cf_block_call_timer(body.pointee.client.info, timer)
    } else {
      body.pointee.callout?(timer, body.pointee.client.info)
    }
    FiringTimers.end(body)
  }
}

private func handle(_ timer: UInt, _ function: StaticString) -> OpaquePointer? {
  access(timer, function, nil) { (body: Pointer<TimerBody>) in body.pointee.handle }
}

@_cdecl("CFRunLoopTimerGetNextFireDate")
public func cfRunLoopTimerGetNextFireDate(_ timer: UInt) -> Double {
  access(timer, "CFRunLoopTimerGetNextFireDate", 0) { (body: Pointer<TimerBody>) in
    lockingDates {
      var time: Int64 = 0
      guard treadle_timer_is_valid(body.pointee.handle), treadle_timer_get_next_fire(body.pointee.handle, &time) >= 0
      else {
        return 0
      }
      return body.pointee.date(of: time)
    }
  }
}

@_cdecl("CFRunLoopTimerSetNextFireDate")
public func cfRunLoopTimerSetNextFireDate(_ timer: UInt, _ date: Double) {
  access(timer, "CFRunLoopTimerSetNextFireDate", ()) { (body: Pointer<TimerBody>) in
    let date = limited(date)
    guard let time = Calendar.time(date) else { return complain("CFRunLoopTimerSetNextFireDate") }
    lockingDates {
      let status = treadle_timer_set_next_fire(body.pointee.handle, time)
      check(status, "CFRunLoopTimerSetNextFireDate")
      if status == 0 {
        body.pointee.date = date
        body.pointee.time = time
      }
    }
  }
}

@_cdecl("CFRunLoopTimerGetInterval")
public func cfRunLoopTimerGetInterval(_ timer: UInt) -> Double {
  access(timer, "CFRunLoopTimerGetInterval", 0) { (body: Pointer<TimerBody>) in
    var step: Int64 = 0
    guard treadle_timer_get_interval(body.pointee.handle, &step) >= 0, step > 0 else { return 0 }
    return step == body.pointee.step ? body.pointee.interval : Double(step) / 1e9
  }
}

@_cdecl("CFRunLoopTimerDoesRepeat")
public func cfRunLoopTimerDoesRepeat(_ timer: UInt) -> UInt8 {
  treadle_timer_repeats(handle(timer, "CFRunLoopTimerDoesRepeat")) ? 1 : 0
}

@_cdecl("CFRunLoopTimerGetOrder")
public func cfRunLoopTimerGetOrder(_ timer: UInt) -> Int {
  access(timer, "CFRunLoopTimerGetOrder", 0) { (body: Pointer<TimerBody>) in body.pointee.order }
}

@_cdecl("CFRunLoopTimerInvalidate")
public func cfRunLoopTimerInvalidate(_ timer: UInt) {
  check(treadle_timer_invalidate(handle(timer, "CFRunLoopTimerInvalidate")), "CFRunLoopTimerInvalidate")
}

@_cdecl("CFRunLoopTimerIsValid")
public func cfRunLoopTimerIsValid(_ timer: UInt) -> UInt8 {
  treadle_timer_is_valid(handle(timer, "CFRunLoopTimerIsValid")) ? 1 : 0
}

@_cdecl("CFRunLoopTimerGetContext")
public func cfRunLoopTimerGetContext(_ timer: UInt, _ context: UnsafeMutablePointer<treadle_cf_context>?) {
  access(timer, "CFRunLoopTimerGetContext", ()) { (body: Pointer<TimerBody>) in
    guard let context else { return complain("CFRunLoopTimerGetContext") }
    body.pointee.client.store(context, hasInfo: treadle_timer_is_valid(body.pointee.handle))
  }
}

@_cdecl("CFRunLoopTimerGetTolerance")
public func cfRunLoopTimerGetTolerance(_ timer: UInt) -> Double {
  var tolerance: Int64 = 0
  _ = treadle_timer_get_tolerance(handle(timer, "CFRunLoopTimerGetTolerance"), &tolerance)
  return Double(tolerance) / 1e9
}

@_cdecl("CFRunLoopTimerSetTolerance")
public func cfRunLoopTimerSetTolerance(_ timer: UInt, _ tolerance: Double) {
  var nanoseconds: Int64 = 0
  if !tolerance.isNaN { _ = treadle_time_from_seconds(tolerance, &nanoseconds) }
  check(
    treadle_timer_set_tolerance(handle(timer, "CFRunLoopTimerSetTolerance"), nanoseconds), "CFRunLoopTimerSetTolerance")
}
