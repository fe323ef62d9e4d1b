// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// The memberships of one item: its own cell, then its aliases. The item's lock is held, where the text does not say
/// otherwise: under it no alias begins or ends. The membership of the own cell begins and ends under its loop's lock
/// (`FirstMembership.swift`).
extension Item {
  /// The mode of this membership, or nil. No lock.
  @inline(__always)
  package var mode: Mode? { Mode(slot: membership) }
  /// Whether this membership is in the mode. No lock.
  @inline(__always)
  package func isIn(_ mode: Mode) -> Bool { membership == mode.slot }

  /// The cell through which the item is in a mode.
  package func member(of mode: Mode) -> Item? {
    if isIn(mode) { return self }
    guard hasNote(Note.aliased), let context else { return nil }
    let slot = context.pointee.aliases.find(UInt64(mode.slot)) { _ in true }
    return slot.flatMap { sibling(UInt32(truncatingIfNeeded: $0)) }
  }

  /// Whether the item is in a mode. Takes the item's lock.
  func isMember(of mode: Mode) -> Bool {
    if !hasNote(Note.aliased) { return isIn(mode) }
    lock()
    defer { unlock() }
    return member(of: mode) != nil
  }

  /// The mode of any membership, with its cell.
  func anyMembership() -> (member: Item, mode: Mode)? {
    if let mode = settledMode { return (self, mode) }
    var next = following(self)
    while let alias = next {
      if let mode = alias.mode { return (alias, mode) }
      next = following(alias)
    }
    return nil
  }

  /// The cell behind one in the item's chain. Of a timer also under its loop's lock, under which its aliases come and
  /// go.
  @inline(__always)
  package func following(_ cell: Item) -> Item? {
    if cell.slot != slot { return sibling(cell.nextAlias) }
    return hasNote(Note.aliased) ? firstAlias : nil
  }
  private var firstAlias: Item? { context.flatMap { sibling($0.pointee.firstAlias) } }

  /// The timer's memberships in modes, the record of common items left out. Its loop's lock is held; in no loop the
  /// item's, and the own cell is claimed.
  @inline(__always)
  func forEachScheduled(_ body: (Mode, Item) -> Void) {
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.isRecord { body(mode, member) }
      next = following(member)
    }
  }

  /// Whether this is a timer or observer that is in another loop (MODE-5).
  func isElsewhere(than loop: Loop) -> Bool {
    guard isOf(.timer) || isOf(.observer), let (_, mode) = anyMembership() else { return false }
    return !mode.isOf(loop)
  }

  // MARK: Aliases

  /// A cell for a membership in a mode: the item's own, which is claimed, or a new alias. The record of common items
  /// always gets an alias, so that a common item is reached as quickly as any.
  func cellForMembership(of mode: Mode) throws(Failure) -> Item {
    let isOwn = !mode.isRecord && claimCell()
    if !mode.isRecord && (!isOwn || hasNote(Note.scattered)) {
      mode.state.hasScattered.store(true, ordering: .relaxed)
      self.mode?.state.hasScattered.store(true, ordering: .relaxed)
    }
    if isOwn { return self }
    guard let context = needContext(), let (slot, memory) = slab.takeOwn() else { throw Failure.noMemory("membership") }
    if !context.pointee.aliases.insert(UInt64(mode.slot), UInt(slot)) {
      slab.giveBackOwn(slot, memory)
      throw Failure.noMemory("membership")
    }
    let alias = Item(tag: Handle.tag(like: tag, slot), memory)
    alias.beginCell(Trait.alias)
    alias.previousAlias = 0
    alias.setLink(primary: self.slot, next: context.pointee.firstAlias)
    sibling(context.pointee.firstAlias)?.previousAlias = slot
    alias.cell.reference.begin(forClient: false)
    context.pointee.firstAlias = slot
    cell.notes.bitwiseOr(
      mode.isRecord ? Note.aliased : Note.aliased | Note.scattered, ordering: .sequentiallyConsistent)
    return alias
  }

  /// Gives an alias back that has left its mode, or not joined it.
  func dispose(_ cell: Item, from mode: Mode) {
    guard let context else { return }
    context.pointee.aliases.remove(UInt64(mode.slot), UInt(cell.slot))
    let next = cell.nextAlias
    sibling(next)?.previousAlias = cell.previousAlias
    if let before = sibling(cell.previousAlias) {
      before.setLink(primary: slot, next: next)
    } else {
      context.pointee.firstAlias = next
    }
    slab.free(cell.slot, UnsafeMutableRawPointer(cell.address))
  }
}
