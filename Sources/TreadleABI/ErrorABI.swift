// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import CTreadleSystem
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_last_error")
public func treadle_last_error(_ info: UnsafeMutablePointer<treadle_error_info>?) -> treadle_status {
  do throws(Failure) {
    try ClientStruct.fill(info, "info") { info in
      let last = treadle_system_failure()
      info.code = last.pointee.code
      info.os_errno = last.pointee.os_errno
      info.sequence = last.pointee.sequence
      withUnsafeMutableBytes(of: &info.function) { function in
        withUnsafeMutableBytes(of: &info.message) { message in LastError.write(function: function, message: message) }
      }
    }
    return Status.ok
  } catch {
    return error.status
  }
}

@implementation @_cdecl("treadle_status_name")
public func treadle_status_name(_ status: treadle_status) -> UnsafePointer<CChar>? {
  StatusText(status).name.cText
}

@implementation @_cdecl("treadle_status_message")
public func treadle_status_message(_ status: treadle_status) -> UnsafePointer<CChar>? {
  StatusText(status).message.cText
}

@implementation @_cdecl("treadle_after_fork_child")
public func treadle_after_fork_child() -> treadle_status {
  ProcessFork.startInChild() ? Status.ok : Status.ignored
}
