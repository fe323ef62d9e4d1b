// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// A queued mention of a membership: the cell's slot, the generation that lived there and which of its memberships was
/// meant, so that whoever reads the queue later can tell a stale entry.
///
///     63..56   55..32       31..6   5..0
///     joins    generation   slot    the rest of `Item.tag`
struct Mention: BitwiseCopyable {
  let bits: UInt64

  @inline(__always)
  init(bits: UInt64) { self.bits = bits }

  /// Of the membership that a cell is now.
  @inline(__always)
  init(_ member: Item) {
    bits = UInt64(Mention.joins(of: member)) << 56 | UInt64(member.generation) << 32 | UInt64(member.tag)
  }
  @inline(__always)
  private static func joins(of member: Item) -> UInt8 { member.cell.joins.load(ordering: .relaxed) }

  @inline(__always)
  var slot: UInt32 { Handle.slot(ofTag: UInt32(truncatingIfNeeded: bits)) }
  @inline(__always)
  var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) & 0xFF_FFFF }

  /// Whether the cell of the slot, in whatever life, is or was last in a membership of that number.
  @inline(__always)
  func isLast(of cell: Item) -> Bool { Mention.joins(of: cell) == UInt8(truncatingIfNeeded: bits >> 56) }

  /// Whether the cell of the slot is, or was last, in the membership that was mentioned.
  @inline(__always)
  func means(_ cell: Item) -> Bool { cell.cell.reference.isLive(generation) && isLast(of: cell) }
}
