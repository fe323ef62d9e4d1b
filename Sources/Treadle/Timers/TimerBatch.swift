// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

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

  mutating func append(_ member: Item) -> Bool { mentions.append(Mention(member).bits) }

  var isOver: Bool { index >= mentions.count }

  mutating func next() -> Mention? {
    guard let bits = mentions[index] else { return nil }
    index &+= 1
    return Mention(bits: bits)
  }

  /// The date of the next timer that will have a turn.
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
