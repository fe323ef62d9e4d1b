// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

extension Failure {
  /// The kernel does not watch a descriptor, and this is its result: what is wrong, as far as that tells.
  package static func unwatchable(_ number: Int32, _ result: Int32) -> Failure {
    let text: StaticString
    switch Int(treadle_system_why_unwatchable(number, result)) {
    case TREADLE_SYSTEM_NOT_OPEN: text = "is not open"
    case TREADLE_SYSTEM_PATH_ONLY: text = "was opened with O_PATH, which cannot be watched"
    case TREADLE_SYSTEM_NESTED: text = "is an epoll that watches too many others, or this loop, and cannot be watched"
    case TREADLE_SYSTEM_TOO_MANY:
      text = "cannot be watched: the user watches as many as fs.epoll.max_user_watches allows"
    default: text = "cannot be watched: the kernel refused it"
    }
    return Failure(Status.system, "fd", text, osError: 0 &- result)
  }
}
