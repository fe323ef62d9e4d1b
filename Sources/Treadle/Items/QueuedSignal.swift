// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// A signal in the queue of those that a loop's owner gives itself: what a `Mention` says, as the handle and the address of the
/// cell, so that nothing is looked up or made where one source after the other is performed.
struct QueuedSignal: BitwiseCopyable {
  let handle: Handle
  /// The cell's address, with the serial of the membership in the top byte, which addresses leave free.
  let place: UInt

  /// Of the membership that a cell is now.
  @inline(__always)
  init(_ member: Item) {
    handle = member.handle
    let serial = UInt(member.cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask)
    place = UInt(bitPattern: member.cell) | serial << 32
  }

  @inline(__always)
  var cell: UnsafeMutablePointer<ItemCell> { UnsafeMutablePointer(bitPattern: (place << 8) >> 8).unsafelyUnwrapped }

  @inline(__always)
  var item: Item { Item(.source, handle.slot, UnsafeMutableRawPointer(cell)) }

  /// What `Loop.calling` says of the cell.
  @inline(__always)
  var tag: UInt32 { Loop.tag(handle.bits) }

  @inline(__always)
  var mention: Mention { Mention(handle, as: UInt32(truncatingIfNeeded: place >> 32)) }
}
