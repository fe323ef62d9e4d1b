// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// A queued mention of a membership: the cell's slot, the serial of the membership and the generation
/// of the object, so that whoever reads the queue later can tell whether it still means anything.
struct Mention {
  static let slotMask: UInt32 = 0xFF_FFFF
  /// From a membership's serial to the next one's, which stands above the mode's slot.
  static let serialStep: UInt32 = 0x100_0000

  let bits: UInt64

  @inline(__always)
  init(bits: UInt64) { self.bits = bits }

  /// Of the membership that a cell is now.
  @inline(__always)
  init(_ item: Item) {
    let serial = item.cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask
    bits = UInt64(item.slot | serial) | UInt64(item.generation) << 32
  }

  /// Of the membership that a cell is going to be, as its word `mode` will show it.
  @inline(__always)
  init(_ item: Item, as membership: UInt32) {
    bits = UInt64(item.slot | membership & ~Mention.slotMask) | UInt64(item.generation) << 32
  }

  /// The handle of the item of a kind, if the membership is its own cell's.
  @inline(__always)
  func handle(_ kind: Kind) -> Handle { Handle(kind: kind, slot: slot, generation: generation) }

  @inline(__always)
  var slot: UInt32 { UInt32(truncatingIfNeeded: bits) & Mention.slotMask }
  @inline(__always)
  var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

  /// What the cell's word `mode` shows while it is still the same membership, in this mode.
  @inline(__always)
  func membership(in mode: Mode) -> UInt32 { mode.slot | (UInt32(truncatingIfNeeded: bits) & ~Mention.slotMask) }

  /// Whether the cell of the slot is still the same membership, in this mode.
  @inline(__always)
  func means(_ cell: Item, in mode: Mode) -> Bool {
    cell.generation == generation
      && cell.cell.pointee.mode.load(ordering: .sequentiallyConsistent) == membership(in: mode)
  }

  /// The cell, if it is still the same membership, in this mode.
  @inline(__always)
  func cell(_ kind: Kind, in mode: Mode) -> Item? {
    guard let item = Item(kind, slot: slot), means(item, in: mode) else { return nil }
    return item
  }

  /// The item whose membership it is, if that still stands. An alias is looked at twice, since it could
  /// have begun to serve another item between the looks at it and at its primary.
  @inline(__always)
  func item(_ kind: Kind, in mode: Mode) -> Item? {
    guard let member = cell(kind, in: mode) else { return nil }
    if !member.hasFlag(Item.Flag.alias) { return member }
    let item = member.primary
    return cell(kind, in: mode) == nil ? nil : item
  }
}
