// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The memory of a mode of one loop. Guards as in `LoopState`.
struct ModeState: ~Copyable {
  /// Its slab counts generations; nobody else refers to a mode.
  let reference: Reference
  let touched: Atomic<UInt64>
  /// Constant while the mode lives: its own slot, the hash of its name.
  var slot: UInt32
  var hash: UInt32
  /// The loop; nil in a free slot. Atomic, since a late caller may look.
  let loop: Atomic<UnsafeMutablePointer<LoopState>?>
  /// Constant while the mode lives.
  var name: UnsafeMutablePointer<CChar>?
  /// How many sources, descriptor sources and timers are in the mode. Written under the lock.
  let content: Atomic<Int32>
  /// What the mode's observers want to be told, all together, or more. Written under the lock.
  let interest: Atomic<UInt32>
  /// The earliest date in `queue`, or earlier; `Clock.forever` when there is none. Written under the lock.
  let earliest: Atomic<Int64>
  /// The mode's descriptors, once it has any: written once under the lock.
  let poller: Atomic<UnsafeMutablePointer<PollerState>?>

  // One cache line: what signals from other threads write.

  /// Signalled sources that no pass has collected yet, in the order of their signals. Gate.
  var signalled: Buffer<Entry>
  /// How many there are, for a look without the gate. Written under the gate.
  let signalledCount: Atomic<Int>
  /// They may be out of order. Gate.
  var signalsAreMixed: Bool
  /// The mode's timers, once it has any. Lock.
  var queue: UnsafeMutablePointer<TimerQueue>?
  /// The mode has, or had, a source that was in another one too: its signals may be used up there while they are queued
  /// here. Atomic.
  let hasScattered: Atomic<Bool>
  private let restOfLine: UInt64

  /// The sources that the owner has signalled itself, in the order of their signals. Owner.
  var ownSignals: Buffer<Entry>
  /// Some of them have an order. Owner.
  var ownSignalsAreMixed: Bool
  /// Timers were handled when last there was something to handle: a descriptor goes first next time (PASS-12). Owner.
  var lastWasTimers: Bool
  /// Constant: this is the loop's hidden record of the common items, not a mode.
  var isRecord: Bool
  /// The mode is in the common set. Set under the lock, never cleared.
  let isCommon: Atomic<Bool>
  /// The mode was named to the common set, but nothing was added to it yet: clients do not see it (RL-7). Lock.
  var isUnlisted: Bool
  /// Counts the observers that came and went. Written under the lock.
  let observerChanges: Atomic<UInt32>
  /// The observers in the order of their calls, as of `observerChanges`. Owner.
  var observersInOrder: ObserverList

  // Lists of memberships. Lock.

  var sources: MemberList
  var descriptors: MemberList
  /// Those whose callbacks run, not for their membership in this mode. In the record of common items, all.
  var timers: MemberList
  var observers: MemberList
}
