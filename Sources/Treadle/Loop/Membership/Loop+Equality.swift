// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// Sources that are the same by value (SRC0-5): both have the same `equal`, perform, order and hash, and
/// `equal` says so of their infos.
extension Loop {
  /// Whether the mode has a source that equals this one. Calls clients, so no lock is held around it.
  @_optimize(size)
  func containsEqual(_ item: Item, _ mode: Mode) -> Bool {
    guard let context = item.context, let equal = context.pointee.equal else { return false }
    var candidates = Buffer<UInt64>()
    defer { candidates.free() }
    lock()
    var next = mode.list(item.kind).first
    while let member = item.sibling(next) {
      next = member.cell.pointee.next
      let other = member.primary
      if other.slot != item.slot, mayEqual(other, item), candidates.append(Mention(other).bits) {
        other.holdAgain()
      }
    }
    unlock()
    var found = false
    for bits in candidates.elements {
      guard let other = item.sibling(Mention(bits: bits).slot) else { continue }
      if !found && other.isValid {
        ClientCall.guarded { found = equal(item.cell.pointee.info, other.cell.pointee.info) != 0 }
      }
      other.drop()
    }
    return found
  }

  private func mayEqual(_ one: Item, _ other: Item) -> Bool {
    guard one.hasTrait(Item.Trait.comparable), let first = one.context, let second = other.context else { return false }
    return first.pointee.hash == second.pointee.hash && first.pointee.order == second.pointee.order
      && one.code == other.code
      && unsafeBitCast(first.pointee.equal, to: UInt.self) == unsafeBitCast(second.pointee.equal, to: UInt.self)
  }
}
