// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// SRC0-7: the order of the sources that a pass performs.
extension Loop {
  /// Sorts what was collected, without what is stale. Without memory it stays as it is.
  @inline(never)
  func putInOrder(_ frame: Frame.Pointer) {
    let mode = frame.pointee.mode
    frame.pointee.batch.sorted.removeAll()
    // An order is in the source's context. What is a member stays one while the lock is held, and so keeps it.
    lock()
    defer { unlock() }
    for entry in frame.pointee.batch.entries.elements {
      guard let item = mode.stands(entry) else { continue }
      let keyed = StableSort.Keyed(key: item.order, second: item.signalTime, value: entry.first)
      if !frame.pointee.batch.sorted.append(keyed) { return }
    }
    guard StableSort.sort(&frame.pointee.batch.sorted, with: &frame.pointee.batch.sortingRoom) else { return }
    frame.pointee.batch.entries.removeAll()
    var last = Entry(first: 0, second: 0)
    for element in frame.pointee.batch.sorted.elements {
      let entry = Entry(first: element.value, second: element.second)
      // Who signalled it and who added it to the mode may both have queued it.
      if entry.first == last.first { continue }
      _ = frame.pointee.batch.entries.appendInRoom(entry)
      last = entry
    }
  }
}
