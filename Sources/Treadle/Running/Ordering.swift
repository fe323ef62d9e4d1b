// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// SRC0-7: the order of the sources that a pass performs.
extension Loop {
  /// Sorts what was collected, each source once, without those that are not signalled any more; unless it
  /// is in order already, as it is when plain sources were signalled once each.
  @inline(__always)
  func putInOrder(_ frame: UnsafeMutablePointer<Frame>) {
    if frame.pointee.collected.count > 1 { putSeveralInOrder(frame) }
  }

  @inline(never)
  private func putSeveralInOrder(_ frame: UnsafeMutablePointer<Frame>) {
    if isInOrder(frame, orders: false) { return }
    // An order is in the source's context. What is a member stays one while the lock is held, and so keeps it.
    let lock = mutex
    lock.lock()
    defer { lock.unlock() }
    if !isInOrder(frame, orders: true) { sortCollected(frame) }
  }

  /// Whether every collected source is signalled still, and stands where it belongs. Without `orders`, which
  /// wants the lock, a source that has an order counts as out of place.
  private func isInOrder(_ frame: UnsafeMutablePointer<Frame>, orders: Bool) -> Bool {
    let mode = frame.pointee.mode
    var last: (order: Int64, time: UInt64)?
    for bits in frame.pointee.collected.elements {
      guard let item = Mention(bits: bits).item(.source, in: mode), item.isSignalled else { return false }
      let isOrdered = item.hasFlag(Item.Flag.ordered)
      if isOrdered && !orders { return false }
      let key = (order: isOrdered ? item.order : 0, time: item.signalTime)
      if let last, (key.order, key.time) <= (last.order, last.time) { return false }
      last = key
    }
    return true
  }

  /// The lock is held. The frame keeps the room for it, so that a loop which always sorts allocates nothing.
  private func sortCollected(_ frame: UnsafeMutablePointer<Frame>) {
    let mode = frame.pointee.mode
    frame.pointee.sorted.removeAll()
    for bits in frame.pointee.collected.elements {
      guard let item = Mention(bits: bits).item(.source, in: mode), item.isSignalled else { continue }
      let order = item.hasFlag(Item.Flag.ordered) ? item.order : 0
      guard frame.pointee.sorted.append(StableSort.Keyed(key: order, second: item.signalTime, value: bits)) else { return }
    }
    guard StableSort.sort(&frame.pointee.sorted, with: &frame.pointee.sortingRoom) else { return }
    var kept = 0
    var last: UInt64?
    for element in frame.pointee.sorted.elements where element.value != last {
      frame.pointee.collected.set(kept, element.value)
      kept &+= 1
      last = element.value
    }
    frame.pointee.collected.truncate(kept)
  }
}
