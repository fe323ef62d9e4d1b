// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// One mode of a loop, or the loop's record of common items: a thin handle like `Loop`.
package struct Mode {
  let address: UnsafeMutablePointer<ModeState>
  /// What the handle leads to.
  @inline(__always)
  var state: ModeState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  @inline(__always)
  init(_ address: UnsafeMutablePointer<ModeState>) { self.address = address }

  @inline(__always)
  package init?(slot: UInt32) {
    guard slot != 0, let memory = Slab(.mode).memory(slot) else { return nil }
    address = memory.assumingMemoryBound(to: ModeState.self)
  }

  @inline(__always)
  package var slot: UInt32 { state.slot }
  @inline(__always)
  package var loop: Loop? { state.loop.load(ordering: .acquiring).map { Loop(UnsafeMutableRawPointer($0)) } }
  /// For what is done under the lock of the mode's loop.
  @inline(__always)
  func assertHeld() { assert(loop.map { $0.state.loopLock.isHeld } ?? true, "the lock of the mode's loop is held") }
  /// Whether the mode is one of a loop.
  @inline(__always)
  package func isOf(_ loop: Loop) -> Bool { state.loop.load(ordering: .acquiring) == loop.address }
  @inline(__always)
  package var name: UnsafePointer<CChar>? { state.name.map { UnsafePointer($0) } }
  @inline(__always)
  /// Relaxed: a thread that is late may read that of the next mode in the slot, and compares the membership again.
  package var isRecord: Bool { state.isRecord.load(ordering: .relaxed) }
  /// Relaxed: nothing that was written before it is read by it. Common items are added behind it, under the lock.
  @inline(__always)
  package var isCommon: Bool { state.isCommon.load(ordering: .relaxed) }

  /// Keeps it, and its name, for one who has it in hand without the lock. Begins under the lock, or where it is kept
  /// already.
  package func holdAgain() { state.reference.holdAgain() }
  package func drop() {
    if !state.reference.drop().isGone { return }
    treadle_system_free(state.name)
    state.name = nil
    Slab(.mode).free(slot, UnsafeMutableRawPointer(address))
  }

  /// Makes a mode, and unless it is the record puts it among the loop's. The caller holds the lock, or nobody else
  /// knows the loop yet.
  static func create(in loop: Loop, name: ModeName, isRecord: Bool = false) -> Mode? {
    Slab(.mode).checkRoom(for: ModeState.self)
    guard let (slot, _) = Slab(.mode).take(), let mode = Mode(slot: slot) else { return nil }
    // Whoever is late may look at it.
    if mode.state.slot != slot { mode.state.slot = slot }
    mode.state.hash = name.hash
    mode.state.name = name.copy()
    mode.state.isRecord.store(isRecord, ordering: .relaxed)
    mode.state.isCommon.store(false, ordering: .relaxed)
    mode.state.isUnlisted = false
    mode.state.content.store(0, ordering: .relaxed)
    mode.state.interest.store(0, ordering: .relaxed)
    mode.state.observerChanges.store(0, ordering: .relaxed)
    mode.state.earliest.store(Clock.forever, ordering: .relaxed)
    mode.state.reference.begin(forClient: false)
    mode.state.loop.store(loop.address, ordering: .releasing)
    if mode.state.name != nil && (isRecord || loop.list(mode)) {
      if name.equals(Loop.callModeName.bytes) { loop.state.callMode.store(slot, ordering: .releasing) }
      return mode
    }
    mode.close()
    return nil
  }

  /// Nothing is in the mode, and no run runs it: whether only its loop keeps it. The lock is held. Owner.
  var isUnused: Bool {
    return state.reference.seen.own == 1 && state.runs == 0 && !hasContent && !isCommon
      && state.observers.first == 0 && state.timers.first == 0 && slot != loop?.state.callMode.load(ordering: .relaxed)
  }

  /// Nothing is in the mode, and its loop gives it up: whoever still has it in hand finds that it is no loop's.
  func close() {
    closeSignals()
    closePoller()
    state.hasScattered.store(false, ordering: .relaxed)
    state.ownSignals.free()
    state.ownSignalsAreMixed = false
    state.lastWasTimers = false
    state.observersInOrder.free()
    state.comparable.free()
    if let queue = state.queue { TimerQueue.free(queue) }
    state.queue = nil
    state.sources = MemberList()
    state.descriptors = MemberList()
    state.ports = MemberList()
    state.readyPort.store(0, ordering: .relaxed)
    state.lastReadyPort = 0
    state.lastOfTurn.store(0, ordering: .relaxed)
    state.lastWasDescriptors = false
    state.timers = MemberList()
    state.observers = MemberList()
    state.observersAreMixed = false
    state.nextCommon = 0
    drop()
  }

  /// Whether there is nothing to wait for but, perhaps, blocks (MODE-7).
  @inline(__always)
  package var hasContent: Bool { state.content.load(ordering: .acquiring) != 0 }
  /// Counts what came and went. The lock is held.
  @inline(__always)
  func countContent(_ difference: Int32) {
    assertHeld()
    state.content.store(state.content.load(ordering: .relaxed) &+ difference, ordering: .releasing)
  }

  /// The list of one kind of members. The lock is held.
  func list(_ kind: Kind) -> UnsafeMutablePointer<MemberList> {
    switch kind {
    case .source: withUnsafeMutablePointer(to: &state.sources) { $0 }
    case .descriptor: withUnsafeMutablePointer(to: &state.descriptors) { $0 }
    case .port: withUnsafeMutablePointer(to: &state.ports) { $0 }
    case .timer: withUnsafeMutablePointer(to: &state.timers) { $0 }
    default: withUnsafeMutablePointer(to: &state.observers) { $0 }
    }
  }
}

/// The memory of a mode of one loop. Guards as in `LoopState`.
struct ModeState: ~Copyable {
  /// One for its loop, and one for each who has it in hand without the lock.
  let reference: Reference
  let touched: Atomic<UInt64>
  /// The hash of its name. Constant while the mode lives. Whoever is late does not look at it: a free slot names the
  /// next one here.
  var hash: UInt32
  /// Its own slot. The same for every life in it.
  var slot: UInt32
  /// The loop; nil in a free slot. Atomic, since a late caller may look.
  let loop: Atomic<UnsafeMutablePointer<LoopState>?>
  /// Constant while the mode lives.
  var name: UnsafeMutablePointer<CChar>?
  /// How many sources, descriptor sources, ports and timers with a date are in the mode. Written under the lock.
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
  /// here. Atomic; it orders nothing: what it is about is looked at under the gate and the lock.
  let hasScattered: Atomic<Bool>
  /// The slots of the first and the last membership of those ports that have messages; 0: none. Written under the gate.
  let readyPort: Atomic<UInt32>
  var lastReadyPort: UInt32

  /// The sources that the owner has signalled itself, in the order of their signals. Owner.
  var ownSignals: Buffer<Entry>
  /// Some of them have an order. Owner.
  var ownSignalsAreMixed: Bool
  /// The next mode with a pollable descriptor. Owner.
  var nextPollable: UInt32
  /// How many runs run it. Owner.
  var runs: UInt32
  /// Timers were handled when last there was something to handle: a descriptor goes first next time (PASS-12). Owner.
  var lastWasTimers: Bool
  /// Descriptors were performed when ports were last ready too (PASS-12). Owner.
  var lastWasDescriptors: Bool
  /// The last of the ready ports whose turn it is; 0: none is. Written under the gate; the owner looks without it.
  let lastOfTurn: Atomic<UInt32>
  /// Constant: this is the loop's hidden record of the common items, not a mode.
  let isRecord: Atomic<Bool>
  /// The mode is in the common set. Set under the lock, never cleared.
  let isCommon: Atomic<Bool>
  /// The next mode of the common set, behind the default mode in no particular order. Lock.
  var nextCommon: UInt32
  /// The mode was named to the common set, but nothing was added to it yet: clients do not see it (RL-7). Lock.
  var isUnlisted: Bool
  /// Counts the observers that came and went. Written under the lock.
  let observerChanges: Atomic<UInt32>
  /// The list of observers may be out of order. Lock.
  var observersAreMixed: Bool
  /// The observers in the order of their calls, as of `observerChanges`. Owner.
  var observersInOrder: ObserverList

  /// The memberships of sources that have an `equal`, by their slots. Lock.
  var comparable: HashIndex

  // Lists of memberships. Lock.

  var sources: MemberList
  var descriptors: MemberList
  var ports: MemberList
  /// Those whose callbacks run, not for their membership in this mode, and the idle ones. In the record of common
  /// items, all.
  var timers: MemberList
  var observers: MemberList
}

/// A doubly linked list of memberships of one kind, linked by slot. All-zero bytes are an empty one.
/// Guarded by the lock of the mode's loop.
struct MemberList {
  var first: UInt32 = 0
  var last: UInt32 = 0

  mutating func append(_ item: Item) {
    item.cell.previous = last
    item.cell.next = 0
    if let before = item.sibling(last) { before.cell.next = item.slot } else { first = item.slot }
    last = item.slot
  }

  mutating func remove(_ item: Item) {
    let previous = item.cell.previous
    let next = item.cell.next
    if let before = item.sibling(previous) { before.cell.next = next } else { first = next }
    if let after = item.sibling(next) { after.cell.previous = previous } else { last = previous }
    item.cell.previous = 0
    item.cell.next = 0
  }
}
