// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The memory of a mode of one loop. Guards as in `LoopState`.
struct ModeState: ~Copyable {
  let reference: Reference
  let touched: Atomic<UInt64>
  /// Constant: the mode's own slot, its loop, its name with its hash.
  var slot: UInt32
  var hash: UInt32
  var loop: UnsafeMutablePointer<LoopState>?
  var name: UnsafeMutablePointer<CChar>?
  /// Constant: this is the loop's hidden record of the common items, not a mode.
  var isRecord: Bool
  /// The mode is in the common set. Set under the lock, never cleared.
  var isCommon: Bool
  /// The mode was named to the common set, but nothing was added to it yet: clients do not see it (RL-7).
  /// Lock.
  var isUnlisted: Bool

  /// How many sources, descriptor sources and timers are in the mode. Written under the lock.
  let content: Atomic<Int32>
  /// What the mode's observers want to be told, all together. Written under the lock.
  let interest: Atomic<UInt32>

  /// The earliest date in `queue`, or earlier; `Clock.forever` when there is none. Written under the lock.
  let earliest: Atomic<Int64>

  /// The mode's descriptors, once it has any: written once under the lock, used by the owner and, under
  /// the lock, by others.
  let poller: Atomic<UnsafeMutablePointer<PollerState>?>
  /// The mode's timers, once it has any. Lock.
  var queue: UnsafeMutablePointer<TimerQueue>?
  /// What a notification walks, once there was one. Owner.
  var snapshot: UnsafeMutablePointer<ObserverSnapshot>?
  /// Counts the observers that came and went. Written under the lock.
  let observerChanges: Atomic<UInt32>
  /// How many sources other threads have taken from the owner that have not been made up for (`OwnedSignal`). Atomic.
  let disowned: Atomic<UInt32>
  /// Sources that the owner has signalled itself and that no pass has collected yet, in the order of their signals.
  /// They may be out of order, since some of them have an order, or in the queue twice. Owner.
  var ownSignals: Buffer<QueuedSignal>
  var ownSignalsAreMixed: Bool
  /// The loop's clock as of which all of them were signals of owned sources (`OwnedSignal`), or `Loop.never`. Owner.
  var ownedAsOf: UInt64
  /// Timers were handled when last there was something to handle: a descriptor goes first next time
  /// (PASS-12). Owner.
  var lastWasTimers: Bool
  /// How many signals of the owner's own came since the last of another thread, up to `OwnedSignal.streak`. Owner.
  var ownStreak: UInt32

  // One cache line: what signals from other threads write.

  /// Signalled sources that no pass has collected yet, in the order in which they were queued. Gate.
  var signalled: Buffer<UInt64>
  /// In place of one in `signalled`, which has memory of its own: the first that is queued when nothing is. 0: none. Gate.
  var loneSignal: UInt64
  /// How many there are, for a look without the gate.
  let signalledCount: Atomic<Int>
  /// How many of them are known to be stale. Gate.
  var staleSignals: Int
  /// They may be out of order, or in the queue twice. Gate.
  var signalsAreMixed: Bool
  /// The `Mention` of the source of the mode that is flooded, or was the last to be; 0 for none. Gate.
  var flood: UInt64

  // Lists of memberships; timers are in the wheel instead, but for the record of common items. Lock.

  var sources: MemberList
  var descriptors: MemberList
  var timers: MemberList
  var observers: MemberList
}
