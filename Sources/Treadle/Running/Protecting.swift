// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Keeping what is being called alive without counting: a source's count is on the cache line that everybody signals,
/// and an observer is called in every pass.
///
/// A mode holds a reference to each item in it. The owner says in `LoopState.calling` what it is about to call, and then
/// looks whether that is a member still. Whoever takes an item out ends the membership, and then looks at `calling`. At
/// least one of the two sees what the other did: either the owner does not call, or the other leaves the mode's reference
/// to the owner, in `LoopState.left`, instead of dropping it. The owner drops it when the call is over: as soon as it says
/// something else in `calling`, which it does before any other client code runs.
///
/// What makes one of them see the other: with `protect`, all four steps are sequentially consistent. With `announce` only
/// those of the other are; but between their two steps both exchange the item's flags, the owner to use the signal up, the
/// other to give up the item's lock, and exchanges of one word have an order: whoever is second sees what the first did
/// before. With `protectObserver` the other has the kernel put a fence between the owner's two steps, if they are under way:
/// observers are called in every pass, and hardly ever taken out by another thread. `useOwnedSignal` counts on such a fence
/// as well, of whoever disowns the source before he takes it out. And `leaveToOwner` makes one of them see the other when the
/// owner says something else.
///
/// Only the innermost run's call is protected so; before a run inside of it begins, it is counted.
extension Loop {
  /// Names an item in `calling` and `left`, as the low half of its mentions and its handle does; never 0.
  @inline(__always)
  static func tag(_ item: Item) -> UInt32 { item.slot << 5 | item.kind.rawValue << 1 | 1 }
  @inline(__always)
  static func tag(_ handle: UInt) -> UInt32 { UInt32(truncatingIfNeeded: handle) }

  /// From here on the item is protected, if its membership stands when it is looked at after this. True if the
  /// client may have been called meanwhile. Owner.
  @inline(__always)
  func protect(_ item: Item) -> Bool {
    var hasDropped = false
    treadle_system_thread().pointee.in_hand = 0
    while true {
      state.pointee.calling.store(Loop.tag(item), ordering: .sequentiallyConsistent)
      if !dropLeft() { return hasDropped }
      hasDropped = true
    }
  }

  /// The same for an observer, whose mode's `observerChanges` are looked at next. The heavy half of the fence is in
  /// `dropMembership`. False if something was left to the owner: `protect` takes it. Owner.
  @inline(__always)
  func protectObserver(_ tag: UInt32) -> Bool {
    if treadle_system_has_barrier() { return protectLightly(tag) }
    state.pointee.calling.store(tag, ordering: .sequentiallyConsistent)
    return state.pointee.left.load(ordering: .sequentiallyConsistent) == 0
  }

  /// The same where the other half is certain to fence the owner. Owner.
  @inline(__always)
  func protectLightly(_ tag: UInt32) -> Bool {
    state.pointee.calling.store(tag, ordering: .releasing)
    treadle_system_light_barrier()
    return state.pointee.left.load(ordering: .sequentiallyConsistent) == 0
  }

  /// The same where something is, as lightly as an observer is protected: the other half is in `leaveToOwner`. Owner.
  @inline(__always)
  func unprotectObserver() {
    if !protectObserver(0) { _ = dropLeft() }
  }

  /// The same for a source, if its flags are exchanged next, and after that `hasLeft` is asked and its membership looked
  /// at. Owner.
  @inline(__always)
  func announce(_ item: Item) {
    treadle_system_thread().pointee.in_hand = 0
    state.pointee.calling.store(Loop.tag(item), ordering: .releasing)
  }

  /// Whether something was left to the owner: `protect` takes it. After an exchange.
  @inline(__always)
  var hasLeft: Bool {
    treadle_system_fence_after_exchange()
    return state.pointee.left.load(ordering: .sequentiallyConsistent) != 0
  }

  /// Nothing is called any more. Owner.
  @inline(__always)
  func unprotect() {
    if state.pointee.calling.load(ordering: .relaxed) == 0 { return }
    treadle_system_thread().pointee.in_hand = 0
    unprotectObserver()
  }

  /// Counts what a run calls, for another run is about to begin inside of the call. Owner.
  func holdCalled(_ frame: UnsafeMutablePointer<Frame>) {
    if frame.pointee.callout.kind == .sourceInHand, let item = itemInHand { frame.pointee.callout.setItem(.source, item) }
    let kind = frame.pointee.callout.kind
    if kind == .source || kind == .observer, !frame.pointee.callout.isHeld, let item = frame.pointee.callout.item {
      item.cell.pointee.reference.retainHeld()
      // Before it says in `calling` that the observer is not called any more: see `invalidateObserver`.
      if kind == .observer { item.setFlag(Item.Flag.running) }
      frame.pointee.callout.isHeld = true
    }
    unprotect()
  }

  /// Drops what was left to the owner, which may call the client. True if there was anything.
  @inline(__always)
  private func dropLeft() -> Bool {
    if state.pointee.left.load(ordering: .sequentiallyConsistent) == 0 { return false }
    takeLeft()
    return true
  }

  @inline(never)
  private func takeLeft() {
    state.pointee.gate.lock()
    let tag = state.pointee.left.load(ordering: .relaxed)
    state.pointee.left.store(0, ordering: .relaxed)
    state.pointee.gate.unlock()
    Loop.dropTagged(tag)
  }

  /// Drops a reference that was left, when the call is over.
  private static func dropTagged(_ tag: UInt32) {
    guard let kind = Kind(rawValue: tag >> 1 & 15), let item = Item(kind, slot: tag >> 5) else { return }
    if kind == .observer { item.releaseAfterCalls() }
    item.drop()
  }

  /// Gives up the reference of a mode that the item has just left. True if it was left to the owner, who is calling the
  /// item. Any thread, no lock.
  @inline(__always)
  func dropMembership(_ item: Item) -> Bool {
    if item.kind == .observer { fenceOwner() }
    if state.pointee.calling.load(ordering: .sequentiallyConsistent) == Loop.tag(item) { return leaveToOwner(item) }
    item.drop()
    return false
  }

  /// The other half of `protectObserver`. A loop that does not run calls nobody before it has seen all that was done so
  /// far, since a run begins with an exchange of `depth`.
  private func fenceOwner() {
    if isCurrent || state.pointee.depth.load(ordering: .sequentiallyConsistent) == 0 { return }
    treadle_system_heavy_barrier(true)
  }

  @inline(never)
  private func leaveToOwner(_ item: Item) -> Bool {
    let tag = Loop.tag(item)
    // The owner takes what is left under the gate: in here it cannot.
    state.pointee.gate.lock()
    let before = state.pointee.left.load(ordering: .relaxed)
    var isLeft = false
    if before != tag && state.pointee.calling.load(ordering: .sequentiallyConsistent) == tag {
      state.pointee.left.store(tag, ordering: .sequentiallyConsistent)
      fenceOwner()
      // If it says the same still, it looks at `left` after it will have said something else.
      isLeft = state.pointee.calling.load(ordering: .sequentiallyConsistent) == tag
      if !isLeft { state.pointee.left.store(before, ordering: .relaxed) }
    }
    state.pointee.gate.unlock()
    if !isLeft {
      // The call is over, or another of the item's references was left already, which keeps it long enough.
      item.drop()
    } else if before != 0 {
      // The owner did not come to take that one, of a call that is over.
      Loop.dropTagged(before)
    }
    return isLeft || before == tag
  }
}
