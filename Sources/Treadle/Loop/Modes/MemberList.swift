// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// A doubly linked list of memberships of one kind, linked by slot. All-zero bytes are an empty one.
/// Guarded by the lock of the mode's loop.
struct MemberList {
  var first: UInt32 = 0
  var last: UInt32 = 0

  mutating func append(_ item: Item) { insert(item, after: last) }

  /// After slot 0: at the front.
  mutating func insert(_ item: Item, after previous: UInt32) {
    let before = item.sibling(previous)
    let following = before.map { $0.cell.pointee.next } ?? first
    item.cell.pointee.previous = previous
    item.cell.pointee.next = following
    if let before { before.cell.pointee.next = item.slot } else { first = item.slot }
    if let after = item.sibling(following) {
      after.cell.pointee.previous = item.slot
    } else {
      last = item.slot
    }
  }

  mutating func remove(_ item: Item) {
    let previous = item.cell.pointee.previous
    let next = item.cell.pointee.next
    if let before = item.sibling(previous) { before.cell.pointee.next = next } else { first = next }
    if let after = item.sibling(next) { after.cell.pointee.previous = previous } else { last = previous }
    item.cell.pointee.previous = 0
    item.cell.pointee.next = 0
  }
}
