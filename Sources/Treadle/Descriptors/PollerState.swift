// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The memory of one mode's epoll set. Guards as in `LoopState`.
struct PollerState: ~Copyable {
  /// Constant but for `Poller.rebuild`, which holds the lock.
  var epoll: Int32
  /// The slot of the membership that watches each descriptor number; 0 for none. Lock.
  var owners: Buffer<UInt32>
  /// Memberships of descriptors that epoll refuses because they are always ready, such as regular files.
  /// Lock.
  var alwaysReady: Buffer<UInt64>
  /// `alwaysReady.count`, for a look without the lock.
  let alwaysReadyCount: Atomic<Int>

  /// The kernel may go on reporting what nobody watches any more: a descriptor that was closed before it was taken out, but
  /// whose file lives on; or one that was left behind (`Poller.leftBehind`). Written under the lock.
  let mayStray: Atomic<Bool>
  /// Such a report has come. Lock.
  var hasStrayed: Bool
  /// The interrupt descriptor that is in the set; -1 for none. Owner.
  var interrupt: Int32
  /// The interrupt descriptor was seen readable. Owner.
  var wasInterrupted: Bool

  /// What the kernel reported and no pass has handled yet; the next one's index. Owner.
  var events: Buffer<treadle_system_event>
  var nextEvent: Int

  init(epoll: Int32) {
    self.epoll = epoll
    owners = Buffer()
    alwaysReady = Buffer()
    alwaysReadyCount = Atomic(0)
    mayStray = Atomic(false)
    hasStrayed = false
    interrupt = -1
    wasInterrupted = false
    events = Buffer()
    nextEvent = 0
  }
}
