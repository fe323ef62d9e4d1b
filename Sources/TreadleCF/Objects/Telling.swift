// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

// CoreFoundation's functions return nothing, or too little: what Treadle's say is told on standard error, if
// TREADLE_DEBUG is set.

/// Tells that a call had no effect.
@inline(never)
func complain(_ function: StaticString) { withName(function) { treadle_cf_complain($0) } }

/// Tells of a status that is a failure.
@inline(never)
func check(_ status: Int32, _ function: StaticString) {
  if status >= 0 { return }
  if status == TREADLE_E_ARG || status == TREADLE_E_STALE || status == TREADLE_E_KIND { return complain(function) }
  withName(function) { treadle_cf_tell_status($0, treadle_status_name(status), treadle_status_message(status)) }
}

/// Tells that Treadle refused to watch a descriptor, with what the calling thread's last error says of it.
@inline(never)
func tellRefusal(_ fd: Int32, _ status: Int32, _ function: StaticString) {
  var error = treadle_error_info()
  error.struct_size = MemoryLayout<treadle_error_info>.size
  let isKnown = treadle_last_error(&error) >= 0 && error.code == status
  withName(function) { function in
    withUnsafePointer(to: &error.message) { text in
      let message = UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self)
      treadle_cf_tell_refusal(
        function, fd, treadle_status_name(status), isKnown ? message : treadle_status_message(status),
        isKnown ? error.os_errno : 0)
    }
  }
}

private func withName(_ function: StaticString, _ work: (UnsafePointer<CChar>?) -> Void) {
  function.withUTF8Buffer { text in text.withMemoryRebound(to: CChar.self) { work($0.baseAddress) } }
}
