// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

@_cdecl("CFRunLoopGetTypeID") public func cfRunLoopGetTypeID() -> UInt { Kind.runLoop.typeID }
@_cdecl("CFRunLoopGetCurrent") public func cfRunLoopGetCurrent() -> UInt { UInt(bitPattern: treadle_loop_current()) }
@_cdecl("CFRunLoopGetMain") public func cfRunLoopGetMain() -> UInt { UInt(bitPattern: treadle_loop_main()) }

func handle(_ loop: UInt) -> OpaquePointer? { OpaquePointer(bitPattern: loop) }

@_cdecl("CFRunLoopCopyCurrentMode")
public func cfRunLoopCopyCurrentMode(_ loop: UInt) -> UInt {
  if !isLoop(loop) { complain("CFRunLoopCopyCurrentMode") }
  var buffer = ByteBuffer()
  buffer.append { treadle_loop_get_current_mode(handle(loop), $0, $1, $2) }
  guard let bytes = buffer.bytes else { return 0 }
  let mode = constantString(bytes, buffer.count)
  buffer.free()
  return mode == 0 ? 0 : cfRetain(mode)
}

@_cdecl("CFRunLoopCopyAllModes")
public func cfRunLoopCopyAllModes(_ loop: UInt) -> UInt {
  if !isLoop(loop) || !isLivingLoop(loop) {
    complain("CFRunLoopCopyAllModes")
    return 0
  }
  let modes = cfArrayOfObjects()
  var buffer = ByteBuffer()
  buffer.append { treadle_loop_get_modes(handle(loop), $0, $1, $2) }
  if let bytes = buffer.bytes, modes != 0 {
    var start = 0, at = 0
    while at < buffer.count {
      if bytes[at] == 0 {
        cfArrayAppendValue(modes, constantString(bytes + start, at &- start))
        start = at &+ 1
      }
      at &+= 1
    }
  }
  buffer.free()
  return modes
}

@_cdecl("CFRunLoopAddCommonMode")
public func cfRunLoopAddCommonMode(_ loop: UInt, _ mode: UInt) {
  withText(mode, "CFRunLoopAddCommonMode", ()) {
    check(treadle_loop_add_common_mode(handle(loop), $0), "CFRunLoopAddCommonMode")
    becameCommon(loop)
  }
}

@_cdecl("CFRunLoopGetNextTimerFireDate")
public func cfRunLoopGetNextTimerFireDate(_ loop: UInt, _ mode: UInt) -> Double {
  withText(mode, "CFRunLoopGetNextTimerFireDate", 0) { mode in
    var time: Int64 = 0
    let status = treadle_loop_get_next_fire(handle(loop), mode, &time)
    check(status, "CFRunLoopGetNextTimerFireDate")
    if status < 0 { return 0 }
    let firing = FiringTimers.nextDate(handle(loop), mode)
    if time == 0 { return firing ?? 0 }
    let next = Calendar.date(time)
    return min(firing ?? next, next)
  }
}

@_cdecl("CFRunLoopRun")
public func cfRunLoopRun() { check(treadle_loop_run_default(treadle_loop_current()), "CFRunLoopRun") }

@_cdecl("CFRunLoopRunInMode")
public func cfRunLoopRunInMode(_ mode: UInt, _ seconds: Double, _ returnAfterSource: UInt8) -> Int32 {
  let finished = Int32(TREADLE_RUN_FINISHED)
  return withText(mode, "CFRunLoopRunInMode", finished) { mode in
    var timeout: Int64 = 0
    if !seconds.isNaN { _ = treadle_time_from_seconds(seconds, &timeout) }
    let flags = returnAfterSource == 0 ? 0 : UInt32(TREADLE_RUN_RETURN_AFTER_SOURCE)
    let status = treadle_loop_run(treadle_loop_current(), mode, timeout, flags)
    check(status, "CFRunLoopRunInMode")
    return status < 0 ? finished : status
  }
}

@_cdecl("CFRunLoopIsWaiting")
public func cfRunLoopIsWaiting(_ loop: UInt) -> UInt8 {
  if !isLoop(loop) { complain("CFRunLoopIsWaiting") }
  return treadle_loop_is_waiting(handle(loop)) ? 1 : 0
}

@_cdecl("CFRunLoopWakeUp")
public func cfRunLoopWakeUp(_ loop: UInt) { check(treadle_loop_wake(handle(loop)), "CFRunLoopWakeUp") }

@_cdecl("CFRunLoopStop")
public func cfRunLoopStop(_ loop: UInt) { check(treadle_loop_stop(handle(loop)), "CFRunLoopStop") }
