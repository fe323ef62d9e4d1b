// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The timers that one pass has collected, in the order of their turns. Touched by the owner alone.
struct TimerBatch {
  /// What "due" means for this batch.
  private(set) var now: Int64 = 0
  private var mentions = Buffer<UInt64>()
  private var index = 0

  mutating func begin(now: Int64) {
    self.now = now
    mentions.removeAll()
    index = 0
  }

  @inline(__always)
  mutating func append(_ member: Item) -> Bool { mentions.append(Mention(member).bits) }

  var isOver: Bool { index >= mentions.count }

  /// The next mention. The loop's lock is held.
  @inline(__always)
  mutating func next(in mode: Mode) -> Mention? {
    guard let bits = mentions[index] else { return nil }
    index &+= 1
    fetchAhead(in: mode)
    return Mention(bits: bits)
  }

  /// Many timers that fire one after the other lie, and their clients' memory too, where the processor has not been
  /// for long: it is told in good time. A hint, which does no harm whatever an address leads to.
  @inline(__always)
  private func fetchAhead(in mode: Mode) {
    if let bits = mentions[index &+ 8], let item = Item(.timer, slot: Mention(bits: bits).slot) {
      item.prefetchForWriting()
    }
    // Only of a member: its info does not change as long as it is one.
    if let bits = mentions[index &+ 3], let item = Mention(bits: bits).cell(.timer, in: mode),
      let info = item.cell.pointee.info
    {
      treadle_system_prefetch_for_writing(info)
    }
  }

  /// The date of the next timer that will have a turn.
  @inline(__always)
  func nextDate(in mode: Mode) -> Int64 {
    guard let bits = mentions[index] else { return Clock.forever }
    return Mention(bits: bits).item(.timer, in: mode)?.timer.pointee.date ?? Clock.forever
  }

  mutating func end() { index = mentions.count }

  mutating func free() { mentions.free() }

  /// The same room, for another run.
  mutating func emptied() -> TimerBatch {
    begin(now: 0)
    return self
  }
}
