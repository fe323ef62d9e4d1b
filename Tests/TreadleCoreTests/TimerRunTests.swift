// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

@testable import TreadleBase

/// The run of timers against the plainest model: an array that the standard library sorts.
@Suite("Timer run")
struct TimerRunTests {
  private static let patterns = ["random", "ascending", "descending", "equal", "organ pipe", "killer", "few"]

  /// The dates; the killer is the one that makes the median of first, middle and last the second least again and again.
  private func dates(_ pattern: String, _ count: Int) -> [Int64] {
    var state: UInt64 = 88_172_645_463_325_252
    func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    return (0..<count).map { index in
      let number = Int64(index)
      return switch pattern {
      case "ascending": number
      case "descending": -number
      case "equal": 7
      case "organ pipe": min(number, Int64(count) - number)
      case "killer": index < count / 2 ? (index % 2 == 0 ? number : Int64(count / 2) + number) : 2 * (number - Int64(count / 2))
      case "few": Int64(next() % 3)
      default: Int64(bitPattern: next())
      }
    }
  }

  private func fill(_ run: inout TimerRun, _ dates: [Int64]) -> [TimerHeap.Entry] {
    var entries: [TimerHeap.Entry] = []
    for (index, date) in dates.enumerated() {
      // Sequence numbers that wrap around, in an order of their own.
      let sequence = UInt32(truncatingIfNeeded: -50 + (index &* 7919) % max(dates.count, 1))
      let entry = TimerHeap.Entry(key: date, sequence: sequence, slot: UInt32(index + 1))
      entries.append(entry)
      let hasRoom = run.append(entry)
      #expect(hasRoom)
    }
    run.sort()
    return entries
  }

  @Test("TMR-11: the turns are those of a sorted array", arguments: patterns)
  func order(pattern: String) {
    for count in [0, 1, 2, 3, 16, 17, 18, 64, 100, 1000, 20_000] where count % 7919 != 0 || count == 0 {
      var run = TimerRun()
      defer { run.free() }
      let expected = fill(&run, dates(pattern, count)).sorted { $0.precedes($1) }
      for entry in expected {
        let first = run.first
        guard first?.key == entry.key, first?.sequence == entry.sequence else {
          Issue.record("\(pattern), \(count): another's turn")
          return
        }
        run.takeFirst()
      }
      #expect(run.first == nil)
      run.clear()
    }
  }

  @Test("TMR-13: who is removed has no turn", arguments: patterns)
  func removal(pattern: String) {
    var run = TimerRun()
    defer { run.free() }
    let expected = fill(&run, dates(pattern, 1000)).sorted { $0.precedes($1) }
    for (index, entry) in expected.enumerated() where index % 3 != 1 { run.remove(entry) }
    for (index, entry) in expected.enumerated() where index % 3 == 1 {
      #expect(run.first?.slot == entry.slot)
      // Once more, while it is first, and those behind it are gone already.
      if index % 2 == 0 { run.takeFirst() } else { run.remove(entry) }
    }
    #expect(run.first == nil)
  }
}
