// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleReport

@implementation @_cdecl("treadle_set_last_resort")
public func treadle_set_last_resort(
  _ handler: treadle_last_resort_fn?, _ info: UnsafeMutableRawPointer?, _ destroy: treadle_release_fn?
) -> treadle_status {
  status("treadle_set_last_resort") { () throws(Failure) in
    do throws(Failure) {
      let code = unsafeBitCast(handler, to: UnsafeMutableRawPointer?.self)
      let isDefault = code == nil && destroy == nil
      try LastResort.set(isDefault ? nil : Handler(code: code, info: info, destroy: destroy))
      return Status.ok
    } catch {
      ClientCall.giveBack(destroy, info)
      throw error
    }
  }
}

@implementation @_cdecl("treadle_has_last_resort")
public func treadle_has_last_resort() -> Bool { LastResort.isSet }

@implementation @_cdecl("treadle_report_error")
public func treadle_report_error(
  _ kind: UnsafePointer<CChar>?, _ message: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_report_error") { () throws(Failure) in
    let thread = Thread.isGoneUnknown ? Handle(bits: 0) : try Thread.currentHandle()
    var empty: CChar = 0
    return withUnsafePointer(to: &empty) { nothing in
      LastResort.report(thread, kind ?? nothing, message ?? nothing) ? Status.ok : Status.ignored
    }
  }
}

@implementation @_cdecl("treadle_set_log")
public func treadle_set_log(
  _ log: treadle_log_fn?, _ info: UnsafeMutableRawPointer?, _ destroy: treadle_release_fn?
) -> treadle_status {
  status("treadle_set_log") { () throws(Failure) in
    do throws(Failure) {
      let code = unsafeBitCast(log, to: UnsafeMutableRawPointer?.self)
      let isDefault = code == nil && destroy == nil
      try Log.set(isDefault ? nil : Handler(code: code, info: info, destroy: destroy))
      return Status.ok
    } catch {
      ClientCall.giveBack(destroy, info)
      throw error
    }
  }
}
