// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Loops that another loop waits for, in place of a run: by a descriptor that is readable when there is something to
/// do.
///
/// The invariant: while its thread is in none of its runs, such a loop sleeps like one that is run: `sleeping` says so,
/// or its wake descriptor was written since. So whoever wakes it makes its pollable descriptors readable, and so does
/// all that ends a run's sleep; what comes of the owner itself, too, who is not asleep then.
extension Loop {
  /// Whether a change may have to end somebody's wait: that of the owner in a run, or of others for the owner.
  @inline(__always)
  var isWaitedFor: Bool { !isCurrent || hasPollables }

  /// Owner.
  @inline(__always)
  var hasPollables: Bool { state.firstPollable != 0 }

  /// The thread is gone. The lock is held.
  @_optimize(size)
  func forgetPollables() {
    while let mode = Mode(slot: state.firstPollable) {
      state.firstPollable = mode.state.nextPollable
      mode.drop()
    }
  }

  func forEachPollable(_ body: (Mode, Poller) -> Void) {
    var slot = state.firstPollable
    while let mode = Mode(slot: slot), let poller = mode.poller {
      body(mode, poller)
      slot = mode.state.nextPollable
    }
  }
}

extension Mode {
  /// Owner.
  var isPollable: Bool { (poller?.state.pollable ?? -1) >= 0 }
}
