// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// What follows a removal when all locks are free: the source's cancel (SRC0-3), and the mode's reference.
struct Departure {
  let item: Item
  /// Whether the mode's reference is to be dropped here; otherwise it is left to the loop that calls the item
  /// (`Loop.leaveToCall`).
  let isDropped: Bool
  /// What the source left, if it is told: then all three are held once more.
  let told: Mode?

  /// `dropping`: how many references the caller has to drop besides.
  @inline(__always)
  func finish(dropping count: UInt64 = 0) {
    if told != nil { tell(dropping: count) }
    drop(count)
  }

  @inline(__always)
  private func drop(_ count: UInt64) {
    let count = isDropped ? count &+ 1 : count
    if count != 0 { item.drop(count) }
  }

  private struct Telling {
    let departure: Departure
    let count: UInt64
  }

  /// The client may end the thread: then what follows the cancel is done all the same.
  @inline(never)
  private func tell(dropping count: UInt64) {
    guard let told, let loop = told.loop else { return }
    ObjectCall.recorded(
      0, holding: Telling(departure: self, count: count),
      { memory in
        let telling = memory.assumingMemoryBound(to: Telling.self).pointee
        telling.departure.endTelling()
        telling.departure.drop(telling.count)
      }
    ) { item.tellCancelled(loop, told) }
    endTelling()
  }

  private func endTelling() {
    guard let told, let loop = told.loop else { return }
    item.drop()
    told.drop()
    loop.letGo()
  }
}
