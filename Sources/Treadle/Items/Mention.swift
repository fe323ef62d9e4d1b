// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// A queued mention of a membership: the cell's slot and the generation that lived there, so that whoever reads the queue
/// later can tell a stale entry. It is laid out as a handle is, without a tag.
struct Mention: BitwiseCopyable {
  let bits: UInt64

  @inline(__always)
  init(bits: UInt64) { self.bits = bits }

  /// Of the membership that a cell is now.
  @inline(__always)
  init(_ member: Item) { bits = UInt64(member.generation) << 32 | UInt64(member.tag) }

  @inline(__always)
  var slot: UInt32 { UInt32(truncatingIfNeeded: bits) >> 5 }
  @inline(__always)
  var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

  /// Whether the cell of the slot still is what was mentioned.
  @inline(__always)
  func means(_ cell: Item) -> Bool { cell.cell.pointee.reference.isLive(generation) }
}

/// One place in a queue or a batch. All of them are of one type, so that a batch takes a queue's memory in exchange for
/// its own.
struct Entry: BitwiseCopyable {
  /// A `Mention`; or a plain function that was posted; 0 for a block that is a node on the heap.
  var first: UInt64
  /// The time of a signal, the date of a timer, the activities of an observer; or the info of a function, or a node.
  var second: UInt64

  @inline(__always)
  init(first: UInt64, second: UInt64) {
    self.first = first
    self.second = second
  }

  @inline(__always)
  init(_ member: Item, _ second: UInt64) { self.init(first: Mention(member).bits, second: second) }

  @inline(__always)
  var mention: Mention { Mention(bits: first) }
}
