// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Starting again in the child of a fork (RL-11).
package enum ProcessFork {
  /// False anywhere else.
  package static func startInChild() -> Bool {
    if treadle_system_process().pointee.forked == 0 { return false }
    // Before the runtime starts, since what it starts may use these.
    Pool.forget()
    NotificationList.forget()
    LastResort.forget()
    MultiThreading.endAnnouncement()
    return Runtime.startInChild()
  }
}
