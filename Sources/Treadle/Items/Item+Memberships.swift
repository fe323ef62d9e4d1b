// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// The memberships of one item: its own cell, then its aliases. All of it under the item's lock.
extension Item {
  /// The cell through which the item is in a mode.
  @inline(__always)
  func member(of mode: Mode) -> Item? {
    if !hasFlag(Flag.aliased) { return isIn(mode) ? self : nil }
    return memberAmongAliases(of: mode)
  }

  @inline(never)
  private func memberAmongAliases(of mode: Mode) -> Item? {
    var next: Item? = self
    while let cell = next {
      if cell.mode?.slot == mode.slot { return cell }
      next = following(cell)
    }
    return nil
  }

  /// Whether the item is in a mode. Takes the item's lock.
  func isMember(of mode: Mode) -> Bool {
    lock()
    defer { unlock() }
    return member(of: mode) != nil
  }

  /// Any cell through which the item is in any mode.
  @inline(__always)
  func anyMember() -> Item? {
    if cell.pointee.mode.load(ordering: .acquiring) & Mention.slotMask != 0 { return self }
    return hasFlag(Flag.aliased) ? anyAlias() : nil
  }

  @inline(never)
  private func anyAlias() -> Item? {
    var next: Item? = self
    while let cell = next {
      if cell.mode != nil { return cell }
      next = following(cell)
    }
    return nil
  }

  /// The cell behind one in the item's chain.
  func following(_ cell: Item) -> Item? {
    if cell.slot != slot { return Item(kind, slot: cell.nextAlias) }
    guard hasFlag(Flag.aliased), let context else { return nil }
    return Item(kind, slot: context.pointee.firstAlias)
  }

  /// A cell for a membership in a mode: the item's own, or a new alias. The record of common items always
  /// gets an alias, so that a common item is reached as quickly as any.
  func freeMember(for newMode: Mode) throws(Failure) -> Item {
    if mode == nil && !newMode.state.pointee.isRecord { return self }
    guard let context = needContext(), let slot = Slab(kind).allocate(), let alias = Item(kind, slot: slot) else {
      throw Failure.noMemory("membership")
    }
    alias.cell.pointee.info = nil
    alias.beginOutside()
    alias.setLink(primary: self.slot, next: context.pointee.firstAlias)
    alias.cell.pointee.flags.store(Flag.alias, ordering: .releasing)
    context.pointee.firstAlias = slot
    let old = setFlag(newMode.state.pointee.isRecord ? Flag.aliased : Flag.aliased | Flag.scattered)
    if kind == .source && !newMode.state.pointee.isRecord, let mode, let loop = mode.loop {
      endFlood(on: loop)
      // The new mode may use the signal up, and so make the mention in this one's queue stale, which may count as being in
      // order. Another mention says that it is not (`Mode.mention`). By the exchange: whoever signals later mentions it so.
      if old & (Flag.signalled | Flag.scattered) == Flag.signalled { mode.mention(self) }
    }
    return alias
  }

  /// Gives an alias that is in no mode back; the item's own cell just stays.
  func dispose(_ cell: Item) {
    guard cell.slot != slot, let context else { return }
    if context.pointee.firstAlias == cell.slot {
      context.pointee.firstAlias = cell.nextAlias
    } else {
      var before = Item(kind, slot: context.pointee.firstAlias)
      while let alias = before, alias.nextAlias != cell.slot { before = Item(kind, slot: alias.nextAlias) }
      before?.setLink(primary: slot, next: cell.nextAlias)
    }
    cell.cell.pointee.flags.store(0, ordering: .relaxed)
    Slab(kind).free(cell.slot)
  }

  private func setLink(primary: UInt32, next: UInt32) {
    cell.pointee.link.store(UInt(primary) | UInt(next) << 32, ordering: .releasing)
  }

  /// The loop that a timer or observer is in: one at a time (MODE-5).
  var onlyLoop: Loop? { anyMember()?.mode?.loop }

  /// Whether this is a timer or observer of another loop. Takes the item's lock.
  func isElsewhere(than loop: Loop) -> Bool {
    guard kind == .timer || kind == .observer else { return false }
    lock()
    defer { unlock() }
    return isElsewhereLocked(than: loop)
  }
  func isElsewhereLocked(than loop: Loop) -> Bool {
    guard kind == .timer || kind == .observer, let onlyLoop else { return false }
    return onlyLoop.state != loop.state
  }

  /// Leaves every mode of every loop, and is recorded nowhere any more; a cancel for each mode (SRC0-4).
  func leaveEverything() {
    while true {
      lock()
      guard let member = anyMember(), let mode = member.mode, let loop = mode.loop else {
        unlock()
        return
      }
      disown()
      let hasLeft = loop.takeOut(member, of: self, from: mode)
      let wasOnly = !hasFlag(Flag.aliased)
      unlock()
      if hasLeft { finishLeaving(loop, mode) }
      if wasOnly { return }
    }
  }

  /// What follows a removal once the locks are free: the cancel, and the mode's reference.
  func finishLeaving(_ loop: Loop, _ mode: Mode) {
    if kind == .source && !mode.state.pointee.isRecord { tellCancelled(loop, mode) }
    _ = loop.dropMembership(self)
  }
}
