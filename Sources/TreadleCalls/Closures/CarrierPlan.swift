// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleCore
package import TreadleBase

/// Where a closure's calls are carried, and how. What it refers to is the client's.
package struct CarrierPlan {
  /// What happens to a call when too many wait. The values are the C header's.
  package enum WhenFull: UInt32 {
    case block = 0
    case fail = 1
    case dropNewest = 2
    case dropOldest = 3
    case coalesce = 4
  }

  /// Held by the caller.
  package let loop: Loop
  package let wait: CarriedCall.Wait
  /// nil: the common modes and the call mode.
  package let modes: ModeNames?
  /// Of a caller's wait; 0: none.
  package let timeout: Int64
  package let limit: UInt32
  package let whenFull: WhenFull

  package init(
    _ loop: Loop, wait: CarriedCall.Wait, modes: ModeNames?, timeout: Int64, limit: UInt32, whenFull: WhenFull
  ) {
    self.loop = loop
    self.wait = wait
    self.modes = modes
    self.timeout = timeout
    self.limit = limit
    self.whenFull = whenFull
  }
}
