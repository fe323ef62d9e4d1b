// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A queued mention of a membership: the cell's slot, the serial of the membership and the generation
/// of the object, so that whoever reads the queue later can tell whether it still means anything.
///
///     bit 63..56   55..32       31..29   28..5   4..1   0
///         serial   generation   0        slot    kind   1
///
/// It is laid out as a handle is, with the serial in the place of the tag.
struct Mention {
  static let slotMask: UInt32 = 0xFF_FFFF
  /// From a membership's serial to the next one's, which stands above the mode's slot in the cell's word `mode`.
  static let serialStep: UInt32 = 0x100_0000
  private static let serialShift: UInt64 = 56

  let bits: UInt64

  @inline(__always)
  init(bits: UInt64) { self.bits = bits }

  /// Of the membership that a cell is now.
  @inline(__always)
  init(_ item: Item) { self.init(item, as: item.cell.pointee.mode.load(ordering: .relaxed)) }

  /// The same of the cell that a handle means, as its word `mode` shows the membership.
  @inline(__always)
  init(_ handle: Handle, as membership: UInt32) {
    bits = UInt64(handle.bits) & ~(0xFF << Mention.serialShift) | UInt64(membership >> 24) << Mention.serialShift
  }

  /// Of the membership that a cell is going to be, as its word `mode` will show it.
  @inline(__always)
  init(_ item: Item, as membership: UInt32) {
    bits =
      UInt64(membership >> 24) << Mention.serialShift | UInt64(item.generation) << 32
      | UInt64(item.slot) << 5 | UInt64(item.kind.rawValue << 1 | 1)
  }

  /// What `Loop.calling` says of the cell.
  @inline(__always)
  var tag: UInt32 { UInt32(truncatingIfNeeded: bits) }
  @inline(__always)
  var slot: UInt32 { UInt32(truncatingIfNeeded: bits >> 5) & Mention.slotMask }
  @inline(__always)
  var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) & 0xFF_FFFF }

  /// What the cell's word `mode` shows while it is still the same membership, in this mode.
  @inline(__always)
  func membership(in mode: Mode) -> UInt32 { mode.slot | (UInt32(truncatingIfNeeded: bits >> 32) & ~Mention.slotMask) }

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
