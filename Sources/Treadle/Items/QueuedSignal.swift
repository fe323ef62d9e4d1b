// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// A signal in the queue of those that a loop's owner gives itself: the mention of the source, with its cell, so that
/// nothing is looked up where one source after the other is performed.
struct QueuedSignal {
  let mention: Mention
  let cell: UnsafeMutablePointer<ItemCell>

  @inline(__always)
  init(_ member: Item) { self.init(Mention(member), member.cell) }

  @inline(__always)
  init(_ mention: Mention, _ cell: UnsafeMutablePointer<ItemCell>) {
    self.mention = mention
    self.cell = cell
  }

  @inline(__always)
  var item: Item { Item(.source, mention.slot, UnsafeMutableRawPointer(cell)) }
}
