// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The calling thread's last error, for calls that have no status to return.
enum LastError {
  static func record(_ failure: Failure) {
    let last = treadle_system_failure()
    last.pointee.sequence &+= 1
    last.pointee.code = failure.status
    last.pointee.os_errno = failure.osError
    withUnsafeMutableBytes(of: &last.pointee.function) { room in
      var text = TextWriter(room.bindMemory(to: UInt8.self))
      text.append("closure")
      text.terminate()
    }
    withUnsafeMutableBytes(of: &last.pointee.message) { room in
      var text = TextWriter(room.bindMemory(to: UInt8.self))
      text.append(failure.subject)
      text.append(" ")
      text.append(failure.text)
      text.terminate()
    }
  }
}
