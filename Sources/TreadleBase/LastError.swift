// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The calling thread's last error. Where its texts are is kept, and they are put together when somebody asks.
package enum LastError {
  @inline(never)
  package static func record(_ failure: Failure, in function: StaticString) {
    let last = treadle_system_failure()
    last.pointee.sequence &+= 1
    last.pointee.code = failure.status
    last.pointee.os_errno = failure.osError
    last.pointee.subject = pointer(failure.subject)
    last.pointee.text = pointer(failure.text)
    last.pointee.place = nil
    last.pointee.function = pointer(function)
  }

  /// Completes the failure that was just recorded.
  package static func add(_ place: StaticString, _ number: Int) {
    treadle_system_failure().pointee.place = pointer(place)
    treadle_system_failure().pointee.number = Int64(number)
  }

  package static func write(function: UnsafeMutableRawBufferPointer, message: UnsafeMutableRawBufferPointer) {
    let last = treadle_system_failure()
    var name = FixedText(function)
    var text = FixedText(message)
    guard let function = last.pointee.function, let subject = last.pointee.subject, let reason = last.pointee.text else {
      return
    }
    name.append(function)
    text.append(subject)
    text.append(" ")
    text.append(reason)
    guard let place = last.pointee.place else { return }
    text.append(" (")
    text.append(place)
    text.append(last.pointee.number)
    text.append(")")
  }

  private static func pointer(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
