// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The locks of items' memberships. An item may be in several loops, so the lock of one is not enough to begin a
/// membership; and items have no room for a lock each, so some share one.
extension Item {
  @inline(__always)
  private var mutex: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_item_lock(slot)) }

  @inline(__always)
  func lock() { mutex.pointee.lock(.item) }
  @inline(__always)
  func unlock() { mutex.pointee.unlock(.item) }
}
