// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@testable import TreadleBase

/// The pieces that know nothing of run loops.
@Suite("Base")
struct BaseTests {
  @Test("a stable sort keeps equal keys in their order", arguments: [0, 1, 2, 3, 7, 64, 1000])
  func sorting(count: Int) {
    var array = Buffer<StableSort.Keyed>()
    defer { array.free() }
    var model: [(Int64, UInt64, UInt64)] = []
    for index in 0..<count {
      let key = Int64((index &* 7919) % 13) - 6
      let second = UInt64((index &* 104_729) % 3)
      let isAppended = array.append(StableSort.Keyed(key: key, second: second, value: UInt64(index)))
      #expect(isAppended)
      model.append((key, second, UInt64(index)))
    }
    var room = Buffer<StableSort.Keyed>()
    defer { room.free() }
    let isSorted = StableSort.sort(&array, with: &room)
    #expect(isSorted)
    #expect(array.elements.map(\.value) == model.sorted { $0 < $1 }.map(\.2))
  }

  @Test("RUN-2 RUN-14: seconds become nanoseconds, rounded up and limited")
  func seconds() {
    #expect(Clock.nanoseconds(1) == 1_000_000_000)
    #expect(Clock.nanoseconds(1e-10) == 1)
    #expect(Clock.nanoseconds(0) == 0)
    #expect(Clock.nanoseconds(.infinity) == Clock.forever)
    #expect(Clock.nanoseconds(-.infinity) == -Clock.forever)
    #expect(Clock.nanoseconds(.nan) == nil)
    #expect(Clock.after(Int64.max - 1, from: 5) == Clock.forever)
    #expect(Clock.after(-5, from: Int64.min) == Int64.min)
  }

  @Test("a buffer keeps what it has while it grows, and gives its room to another")
  func buffers() {
    var buffer = Buffer<UInt64>()
    defer { buffer.free() }
    #expect(buffer.isEmpty && buffer.isFull && buffer[0] == nil)
    let isRefused = !buffer.appendInRoom(1)
    for number in 0..<1000 as Range<UInt64> {
      let isAppended = buffer.append(number)
      #expect(isAppended)
    }
    #expect(isRefused && Array(buffer.elements) == Array(0..<1000) && buffer[1000] == nil && buffer[-1] == nil)
    buffer.set(7, 70)
    buffer.set(1000, 1)
    buffer.truncate(8)
    buffer.truncate(9)
    #expect(Array(buffer.elements) == [0, 1, 2, 3, 4, 5, 6, 70] && buffer.hasRoom(992) && !buffer.isFull)
    var other = Buffer<UInt64>()
    defer { other.free() }
    other.takeAll(of: &buffer)
    #expect(buffer.isEmpty && buffer.capacity == 0 && other.count == 8 && other.hasRoom(992))
    let isRefilled = other.refill(4) { room in
      for index in 0..<4 { room[index] = UInt64(index) }
      return 9
    }
    #expect(isRefilled && Array(other.elements) == [0, 1, 2, 3])
    let hasTooMuch = other.reserve(Int.max)
    #expect(!hasTooMuch && other.count == 4)
  }

  /// A count that is right only if one at a time adds to it.
  private final class Counted: @unchecked Sendable {
    let gate: UnsafeMutablePointer<Gate>
    let mutex: UnsafeMutablePointer<Mutex>
    var count = 0

    init() {
      gate = .allocate(capacity: 1)
      gate.initialize(to: Gate())
      mutex = .allocate(capacity: 1)
      mutex.initialize(to: Mutex())
    }

    deinit {
      gate.deallocate()
      mutex.deallocate()
    }

    func add(underGate: Bool) {
      if underGate { gate.pointee.lock() } else { mutex.pointee.lock(.loop) }
      // Not one step, which would hide that two do it at once.
      let before = count
      if before % 64 == 0 { sched_yield() }
      count = before + 1
      if underGate { gate.pointee.unlock() } else { mutex.pointee.unlock(.loop) }
    }
  }

  @Test("a gate and a mutex let one thread in at a time", arguments: [true, false])
  func exclusion(underGate: Bool) throws {
    let counted = Counted()
    let threads = try (0..<4).map { _ in
      try ForeignThread { for _ in 0..<5000 { counted.add(underGate: underGate) } }
    }
    for thread in threads { thread.join() }
    #expect(counted.count == 20_000)
  }

  @Test("OBJ-7: a thread takes locks in the order of their ranks, and client code is called without any")
  func order() {
    #expect(LockOrder.isClear)
    let inOrder = [LockOrder.enter(.process), LockOrder.enter(.item), LockOrder.enter(.loop), LockOrder.enter(.gate)]
    #expect(inOrder == [true, true, true, true] && !LockOrder.isClear)
    let left = [LockOrder.leave(.gate), LockOrder.leave(.gate), LockOrder.leave(.item)]
    #expect(left == [true, false, true])
    // The owner of a loop may come to a gate's turn, and no visitor that waits for the owner has that.
    let admitted = [LockOrder.admits(.claim), LockOrder.admits(.gateTurn), LockOrder.admits(.loopTurn), LockOrder.admits(.loop)]
    #expect(admitted == [true, true, false, false])
    let against = [LockOrder.enter(.item), LockOrder.enter(.loop)]
    #expect(against == [false, false])
    for rank in [LockRank.process, .item, .loop] { _ = LockOrder.leave(rank) }
    #expect(LockOrder.isClear)
  }

  @Test("text in a buffer of fixed size is cut, and always ends")
  func fixedText() {
    var room = [UInt8](repeating: 0xFF, count: 12)
    let length = room.withUnsafeMutableBytes { bytes in
      var text = FixedText(UnsafeMutableRawBufferPointer(rebasing: bytes[..<8]))
      text.append("ab")
      text.append(Int64.min)
      return text.length
    }
    #expect(length == 22 && room == Array("ab-9223".utf8) + [0, 0xFF, 0xFF, 0xFF, 0xFF])
  }
}
