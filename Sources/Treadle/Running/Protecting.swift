// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// Keeping the source that is being performed alive without counting, since its count is on the cache line
/// that everybody signals.
///
/// A mode holds a reference to each item in it. The owner says in `LoopState.calling` which source it is
/// about to call, and then looks whether that is a member still. Whoever takes one out ends the membership,
/// and then looks at `calling`. These four are sequentially consistent, so at least one of the two sees what
/// the other did: either the owner does not call, or the other leaves the mode's reference to the owner, in
/// `LoopState.left`, instead of dropping it. The owner drops it when the call is over: as soon as it says
/// something else in `calling`, which it does before any other client code runs.
///
/// Only the innermost run's call is protected so; before a run inside of it begins, it is counted.
extension Loop {
  /// Names an item in `calling` and `left`; never 0.
  @inline(__always)
  static func tag(_ item: Item) -> UInt32 { item.slot | item.kind.rawValue << 24 }

  /// From here on the item is protected, if its membership stands when it is looked at after this. True if the
  /// client may have been called meanwhile. Owner.
  @inline(__always)
  func protect(_ item: Item) -> Bool {
    var hasDropped = false
    while true {
      state.pointee.calling.store(Loop.tag(item), ordering: .sequentiallyConsistent)
      if !dropLeft() { return hasDropped }
      hasDropped = true
    }
  }

  /// No source is called any more. Owner.
  @inline(__always)
  func unprotect() {
    if state.pointee.calling.load(ordering: .relaxed) == 0 { return }
    state.pointee.calling.store(0, ordering: .sequentiallyConsistent)
    _ = dropLeft()
  }

  /// Counts the source that a run calls, for another run is about to begin inside of the call. Owner.
  func holdCalled(_ frame: UnsafeMutablePointer<Frame>) {
    if frame.pointee.callout.kind == .source && !frame.pointee.callout.isHeld, let item = frame.pointee.callout.item {
      item.cell.pointee.reference.retainHeld()
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
    Loop.tagged(tag)?.drop()
  }

  private static func tagged(_ tag: UInt32) -> Item? {
    guard let kind = Kind(rawValue: tag >> 24) else { return nil }
    return Item(kind, slot: tag & Mention.slotMask)
  }

  /// Gives up the reference of a mode that the item has just left. Any thread, no lock.
  @inline(__always)
  func dropMembership(_ item: Item) {
    if state.pointee.calling.load(ordering: .sequentiallyConsistent) != Loop.tag(item) {
      item.drop()
    } else {
      leaveToOwner(item)
    }
  }

  @inline(never)
  private func leaveToOwner(_ item: Item) {
    let tag = Loop.tag(item)
    // The owner takes what is left under the gate: in here it cannot.
    state.pointee.gate.lock()
    let before = state.pointee.left.load(ordering: .relaxed)
    var isLeft = false
    if before != tag && state.pointee.calling.load(ordering: .sequentiallyConsistent) == tag {
      state.pointee.left.store(tag, ordering: .sequentiallyConsistent)
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
      Loop.tagged(before)?.drop()
    }
  }
}
