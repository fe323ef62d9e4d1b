// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Where threads wait for a condition on other objects' counts: that no callback of an item runs, no call of a host, no
/// loop. Such waits are rare, so all waiters share one counter, and look at their own object again when it moves.
package enum Rest {
  package static var epoch: UInt32 { treadle_system_rest_epoch() }

  /// Something that somebody waits for may be true now.
  package static func announce() {
    treadle_system_rest_announce()
    if treadle_system_deferred_scopes() != 0, let end = treadle_system_scopes_end() { end() }
  }

  /// Returns when the counter is not `seen` any more, at `until`, or for no reason.
  package static func wait(_ seen: UInt32, until: Int64) {
    assert(LockOrder.isClear, "a waiter holds no lock")
    treadle_system_rest_wait(seen, until)
  }
}
