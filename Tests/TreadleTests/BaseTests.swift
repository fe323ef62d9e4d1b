// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

@testable import TreadleBase
import Treadle

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

  @Test("OBJ-2: a handle of an object that is gone means nothing, also when its slot is used again")
  func generations() throws {
    try Loop.startRuntime()
    let slab = Slab(.source)
    let slot = try #require(slab.allocate())
    let memory = try #require(slab.memory(slot))
    let reference = memory.assumingMemoryBound(to: Reference.self)
    let old = Handle(kind: .source, slot: slot, generation: reference.pointee.generation)
    #expect(slab.find(old) == memory)
    #expect(Slab(.timer).find(old) == nil)
    slab.free(slot)
    #expect(slab.find(old) == nil)
    var used: [UInt32] = []
    for _ in 0..<100 { used.append(try #require(slab.allocate())) }
    #expect(slab.find(old) == nil)
    for slot in used { slab.free(slot) }
  }

  @Test("OBJ-2: a client cannot release what others hold")
  func references() throws {
    try Loop.startRuntime()
    let slab = Slab(.source)
    let slot = try #require(slab.allocate())
    let reference = try #require(slab.memory(slot)).assumingMemoryBound(to: Reference.self)
    let generation = reference.pointee.generation
    let isRetained = reference.pointee.retain(generation: generation)
    let first = reference.pointee.surrenderClient(generation: generation)
    let second = reference.pointee.surrenderClient(generation: generation)
    #expect(isRetained && first == Status.ok && second == Status.stale)
    let isLast = reference.pointee.release()  // what the client gave up; one of ours is left
    let other = reference.pointee.retainForClient(generation: generation &+ 1)
    let isLastNow = reference.pointee.release()
    #expect(!isLast && other == Status.stale && isLastNow)
    slab.free(slot)
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
}
