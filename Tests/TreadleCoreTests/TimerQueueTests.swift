// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

@testable import TreadleCore
@testable import TreadleBase

/// The queue of timers against the plainest model: an array that is sorted anew each time.
@Suite("Timer queue")
struct TimerQueueTests {
  /// SplitMix64: the same numbers for the same seed everywhere.
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  private struct Expected {
    var date: Int64
    var turn: Int
    var tolerance: Int64
  }

  private func makeTimer(tolerance: Int64 = 0) throws -> Item {
    try Item.timer(code: nil, info: nil, context: Context(), date: 0, interval: 0, tolerance: tolerance)
  }

  private func release(_ item: Item) throws { try Item.release(.timer, item.handle.bits, "timer") }

  private func insert(_ item: Item, _ tolerance: Int64, into queue: UnsafeMutablePointer<TimerQueue>) {
    let hasRoom = queue.pointee.reserve(tolerant: tolerance > 0)
    #expect(hasRoom)
    if tolerance > 0 { queue.pointee.insertTolerant(item) } else { queue.pointee.insertExact(item) }
  }

  private func expect(_ queue: UnsafeMutablePointer<TimerQueue>, nextWake: Int64, firstDate: Int64) {
    let wake = queue.pointee.nextWake()
    let first = queue.pointee.firstDate()
    #expect(wake == nextWake && first == firstDate)
  }

  /// Dates near, far, in the past, equal to each other, and at the ends of what can be expressed.
  private func date(_ numbers: inout Numbers, now: Int64) -> Int64 {
    switch Int.random(in: 0..<8, using: &numbers) {
    case 0: now - Int64.random(in: 0..<1_000_000, using: &numbers)
    case 1: now + Int64.random(in: 0..<65536, using: &numbers)
    case 2: now + Int64.random(in: 0..<4, using: &numbers)
    case 3: now + Int64.random(in: 0..<1_000_000_000, using: &numbers)
    case 4: now + Int64.random(in: 0..<1_000_000_000_000_000, using: &numbers)
    case 5: Int64.max - Int64.random(in: 0..<4, using: &numbers)
    case 6: Int64.min + Int64.random(in: 0..<4, using: &numbers)
    default: Int64.random(in: 0...now, using: &numbers)
    }
  }

  @Test(
    "TMR-11 TMR-17 TMR-18 TMR-22: what is due comes out by date, then by insertion",
    arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func model(seed: UInt64) throws {
    var numbers = Numbers(state: seed)
    let queue = try #require(TimerQueue.make())
    defer { TimerQueue.free(queue) }
    var now = Clock.now()
    var turn = 0
    var expected: [UInt32: Expected] = [:]
    var idle: [Item] = try (0..<200).map { _ in try makeTimer() }
    for _ in 0..<4000 {
      switch Int.random(in: 0..<10, using: &numbers) {
      case 0..<6:
        guard let item = idle.popLast() else { continue }
        let tolerance = Bool.random(using: &numbers) ? 0 : Int64.random(in: 1..<50_000_000, using: &numbers)
        item.due.date = date(&numbers, now: now)
        insert(item, tolerance, into: queue)
        turn += 1
        expected[item.slot] = Expected(date: item.due.date, turn: turn, tolerance: tolerance)
      case 6..<8:
        guard let slot = expected.keys.randomElement(using: &numbers), let item = Item(.timer, slot: slot) else {
          continue
        }
        queue.pointee.remove(item)
        expected[slot] = nil
        idle.append(item)
      case 8:
        guard let (slot, old) = expected.randomElement(using: &numbers), let item = Item(.timer, slot: slot) else {
          continue
        }
        let step = Int64.random(in: -1_000_000_000..<3_000_000_000, using: &numbers)
        let later = Clock.after(step, from: old.date)
        if queue.pointee.postpone(item, to: later) {
          #expect(later >= old.date && old.tolerance == 0)
          turn += 1
          expected[slot] = Expected(date: later, turn: turn, tolerance: 0)
        }
      default:
        now += Int64.random(in: 0..<3_000_000_000, using: &numbers)
        let due = expected.filter { $0.value.date <= now }
          .sorted { ($0.value.date, $0.value.turn) < ($1.value.date, $1.value.turn) }.map(\.key)
        var taken: [UInt32] = []
        while let item = queue.pointee.takeDue(now) {
          taken.append(item.slot)
          expected[item.slot] = nil
          idle.append(item)
        }
        #expect(taken == due)
      }
      let first = queue.pointee.firstDate()
      #expect(first == expected.values.map(\.date).min() ?? Clock.forever)
    }
    for item in idle { try release(item) }
    for slot in expected.keys {
      let item = try #require(Item(.timer, slot: slot))
      queue.pointee.remove(item)
      try release(item)
    }
    let isLeft = queue.pointee.any() != nil
    #expect(!isLeft)
  }

  @Test("TMR-11 TMR-17: what is put off where it lies comes out at its new date", arguments: [1, 2, 3, 4] as [UInt64])
  func postponed(seed: UInt64) throws {
    var numbers = Numbers(state: seed)
    let queue = try #require(TimerQueue.make())
    defer { TimerQueue.free(queue) }
    let start = Clock.now()
    var expected: [UInt32: Expected] = [:]
    for turn in 0..<100 {
      let item = try makeTimer()
      item.due.date = start + Int64.random(in: 1_000_000_000..<3_000_000_000, using: &numbers)
      insert(item, 0, into: queue)
      expected[item.slot] = Expected(date: item.due.date, turn: turn, tolerance: 0)
    }
    for turn in 100..<300 {
      let (slot, old) = try #require(expected.randomElement(using: &numbers))
      // Now and then by nothing: it goes behind those of its date.
      let step = turn % 3 == 0 ? 0 : Int64.random(in: 0..<2_000_000_000, using: &numbers)
      let item = try #require(Item(.timer, slot: slot))
      let isMoved = queue.pointee.postpone(item, to: old.date + step)
      let isMovedAhead = queue.pointee.postpone(item, to: old.date - 1)
      #expect(isMoved && !isMovedAhead)
      expected[slot] = Expected(date: old.date + step, turn: turn, tolerance: 0)
    }
    let order = expected.sorted { ($0.value.date, $0.value.turn) < ($1.value.date, $1.value.turn) }
    for (slot, timer) in order {
      let first = queue.pointee.firstDate()
      let early = queue.pointee.takeDue(timer.date - 1)
      let due = queue.pointee.takeDue(timer.date)
      #expect(first == timer.date && early?.slot == nil && due?.slot == slot)
      if let due { try release(due) }
    }
  }

  @Test("TMR-5: a sleep may last until the latest date of the tolerant, and the date of the exact")
  func nextWake() throws {
    let queue = try #require(TimerQueue.make())
    defer { TimerQueue.free(queue) }
    let now = Clock.now()
    let tolerant = try makeTimer(tolerance: 5000)
    tolerant.due.date = now + 1000
    insert(tolerant, tolerant.tolerance, into: queue)
    expect(queue, nextWake: now + 6000, firstDate: now + 1000)
    let exact = try makeTimer()
    exact.due.date = now + 3000
    insert(exact, 0, into: queue)
    expect(queue, nextWake: now + 3000, firstDate: now + 1000)
    queue.pointee.remove(exact)
    queue.pointee.remove(tolerant)
    expect(queue, nextWake: Clock.forever, firstDate: Clock.forever)
    try release(exact)
    try release(tolerant)
  }
}
