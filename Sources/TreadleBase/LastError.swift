// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The calling thread's last error.
package enum LastError {
  /// What failed is part of another function.
  @inline(never)
  package static func attribute(to function: StaticString) {
    withUnsafeMutableBytes(of: &treadle_system_failure().pointee.function) { room in
      var text = FixedText(room)
      text.append(function)
    }
  }

  @inline(never)
  package static func record(_ failure: Failure, in function: StaticString) {
    let last = treadle_system_failure()
    last.pointee.sequence &+= 1
    last.pointee.code = failure.status
    last.pointee.os_errno = failure.osError
    attribute(to: function)
    withUnsafeMutableBytes(of: &last.pointee.message) { room in
      var text = FixedText(room)
      text.append(failure.subject)
      text.append(" ")
      text.append(failure.text)
    }
  }
}
