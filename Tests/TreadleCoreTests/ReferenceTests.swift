// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TestSupport
import Testing

@testable import TreadleBase

/// The slots that objects live in, and the word that says which life is in one.
@Suite("References and slots")
struct ReferenceTests {
  private typealias Mark = Reference.Mark

  /// A slot in which a life has begun, with one reference of the client's.
  private func begin(_ slab: Slab) throws -> (slot: UInt32, memory: UnsafeMutableRawPointer) {
    try Runtime.start()
    let taken = try #require(slab.take())
    reference(taken.memory).pointee.begin(forClient: true)
    return taken
  }

  private func reference(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Reference> {
    memory.assumingMemoryBound(to: Reference.self)
  }

  /// A reference of nothing else, in its first life.
  private func withReference(marks: UInt64 = 0, _ body: (UnsafeMutablePointer<Reference>) -> Void) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
    let reference = reference(memory)
    reference.pointee.begin(forClient: true, marks: marks)
    body(reference)
  }

  private func end(_ slab: Slab, _ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    #expect(reference(memory).pointee.releaseForClient(reference(memory).pointee.generation)?.isGone == true)
    slab.free(slot, memory)
  }

  // MARK: Slots

  @Test("OBJ-2: a handle of an object that is gone means nothing, also when its slot is used again")
  func generations() throws {
    let slab = Slab(.source)
    let (slot, memory) = try begin(slab)
    let old = Handle(kind: .source, slot: slot, generation: reference(memory).pointee.generation)
    #expect(slab.find(old) == memory && slab.locate(old) == memory)
    #expect(Slab(.timer).find(old) == nil && old.failure("it").status == Status.kind)
    end(slab, slot, memory)
    #expect(slab.find(old) == nil && old.failure("it").status == Status.stale)
    let used = try (0..<100).map { _ in try begin(slab) }
    #expect(slab.find(old) == nil)
    #expect(throws: Failure.self) { try slab.hold(old.bits, "it") }
    for (slot, memory) in used { end(slab, slot, memory) }
  }

  @Test("OBJ-2: a slot whose generations are used up is not used again")
  func lastGeneration() throws {
    let slab = Slab(.observer)
    let (slot, memory) = try begin(slab)
    // The last one but for this life's counts.
    memory.storeBytes(of: memory.load(as: UInt64.self) | 0xFF_FFFF << 40, as: UInt64.self)
    #expect(reference(memory).pointee.generation == 0xFF_FFFF)
    end(slab, slot, memory)
    let used = try (0..<100).map { _ in try begin(slab) }
    #expect(!used.contains { $0.slot == slot })
    for (slot, memory) in used { end(slab, slot, memory) }
  }

  @Test("who looks at all objects of a kind sees those that live")
  func living() throws {
    let slab = Slab(.observer)
    let lives = try (0..<5).map { _ in try begin(slab) }
    end(slab, lives[2].slot, lives[2].memory)
    var seen: Set<UInt32> = []
    slab.forEachLive { slot, memory in
      #expect(slab.memory(slot) == memory)
      seen.insert(slot)
      return true
    }
    let mine = Set(lives.map(\.slot)).subtracting([lives[2].slot])
    #expect(mine.isSubset(of: seen))
    var count = 0
    slab.forEachLive { _, _ in
      count += 1
      return false
    }
    #expect(count == 1)
    for (index, life) in lives.enumerated() where index != 2 { end(slab, life.slot, life.memory) }
  }

  // MARK: Counts

  @Test("OBJ-2: a client cannot release what others hold")
  func clients() throws {
    withReference { reference in
      let isHeld = reference.pointee.hold(0)
      let first = reference.pointee.releaseForClient(0)
      let second = reference.pointee.releaseForClient(0)
      let third = reference.pointee.surrenderClient(0)
      #expect(isHeld && first?.clients == 0 && first?.isGone == false && second == nil && !third)
      let others = [reference.pointee.retainForClient(1), reference.pointee.retainForClient(0)]
      #expect(others == [Status.stale, Status.ok])
      let isSurrendered = reference.pointee.surrenderClient(0)
      #expect(isSurrendered && reference.pointee.seen.own == 2 && reference.pointee.seen.clients == 0)
      let left = reference.pointee.drop(2)
      #expect(left.isGone && !reference.pointee.hold(0) && !reference.pointee.isLive(0))
      let last = reference.pointee.end()
      #expect(!last.isLastGeneration && reference.pointee.generation == 1 && reference.pointee.seen.isGone)
    }
  }

  @Test("OBJ-2: a client has as many references as it can have, and no more")
  func most() throws {
    withReference { reference in
      for _ in 1..<Reference.mostClients { _ = reference.pointee.retainForClient(0) }
      #expect(reference.pointee.seen.clients == Reference.mostClients && reference.pointee.retainForClient(0) == Status.range)
      #expect(reference.pointee.seen.own == 0 && reference.pointee.generation == 0)
    }
  }

  @Test("OBJ-2 OBJ-3: references of ours that no count can hold keep the object for ever, and no other count is touched")
  func saturation() throws {
    withReference(marks: Mark.valid) { reference in
      // As many as queued calls and modes may have, and more, each way of adding one in its turn.
      let wanted = 1 << 21
      var refusals = 0
      for turn in 0..<wanted {
        switch turn % 3 {
        case 0: if !reference.pointee.hold(0) { refusals += 1 }
        case 1: if reference.pointee.hold(0, clearing: 0) == nil { refusals += 1 }
        default: reference.pointee.holdAgain()
        }
      }
      let isRetained = reference.pointee.retainForClient(0) == Status.ok
      let isSurrendered = reference.pointee.surrenderClient(0)
      #expect(refusals == 0 && isRetained && isSurrendered)
      #expect(reference.pointee.seen.clients == 1 && reference.pointee.generation == 0 && reference.pointee.seen.has(Mark.valid))
      // All go, and one too many: the object stays.
      var ends = 0
      for _ in 0..<wanted where reference.pointee.drop().isGone { ends += 1 }
      for _ in 0..<10 where reference.pointee.dropUnlessLast(1, without: Mark.signalled)?.isGone != false { ends += 1 }
      let left = reference.pointee.releaseForClient(0)
      let none = reference.pointee.releaseForClient(0)
      let isLive = reference.pointee.isLive(0)
      #expect(ends == 0 && left?.isGone == false && none == nil && isLive && reference.pointee.seen.has(Mark.valid))
    }
  }

  @Test("OBJ-2: what many threads add and take away at once adds up")
  func overlap() throws {
    let slab = Slab(.source)
    let (slot, memory) = try begin(slab)
    nonisolated(unsafe) let reference = reference(memory)
    let generation = reference.pointee.generation
    let threads = try (0..<4).map { _ in
      try ForeignThread {
        for turn in 0..<5000 {
          guard reference.pointee.hold(generation) else { return }
          if turn % 2 == 0 { reference.pointee.set(Mark.signalled) } else { reference.pointee.clear(Mark.signalled) }
          if reference.pointee.retainForClient(generation) == Status.ok { _ = reference.pointee.releaseForClient(generation) }
          _ = reference.pointee.drop()
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(reference.pointee.seen.own == 0 && reference.pointee.seen.clients == 1)
    end(slab, slot, memory)
  }

  @Test("TMR-7 OBS-8: the last of our own references waits until the object is invalid, or what was to be done is done")
  func last() throws {
    withReference(marks: Mark.valid) { reference in
      _ = reference.pointee.hold(0)
      #expect(reference.pointee.dropUnlessLast(1, without: Mark.valid)?.own == 0)
      _ = reference.pointee.hold(0)
      _ = reference.pointee.hold(0)
      reference.pointee.clear(Mark.valid)
      #expect(reference.pointee.dropUnlessLast(2, without: Mark.valid) == nil && reference.pointee.seen.own == 2)
      #expect(reference.pointee.dropUnlessLast(1, without: Mark.valid)?.own == 1)
      #expect(reference.pointee.dropUnlessLast(1, without: Mark.valid) == nil && reference.pointee.seen.own == 1)
    }
  }

  // MARK: Marks

  @Test("SRC0-6: the marks of a signal, and of one before the first was used")
  func signals() throws {
    withReference(marks: Mark.valid) { reference in
      let first = reference.pointee.signal(0, wake: false)
      #expect(first?.has(Mark.signalled) == false && reference.pointee.seen.has(Mark.signalled) && !reference.pointee.seen.has(Mark.repeated))
      let second = reference.pointee.signal(0, wake: true)
      #expect(second?.has(Mark.signalled) == true && reference.pointee.seen.has(Mark.repeated) && reference.pointee.seen.has(Mark.wakeWanted))
      let used = reference.pointee.exchange(0, needs: Mark.valid | Mark.signalled, set: 0, clear: Mark.ofSignal)
      #expect(used?.has(Mark.repeated) == true && reference.pointee.seen.bits & Mark.ofSignal == 0)
      #expect(reference.pointee.exchange(0, needs: Mark.valid | Mark.signalled, set: 0, clear: Mark.ofSignal) == nil)
      #expect(reference.pointee.seen.has(Mark.valid) && reference.pointee.seen.clients == 1)
      // Not of another life, nor of an item that is invalid.
      #expect(reference.pointee.signal(1, wake: true) == nil)
      let before = reference.pointee.hold(0, clearing: Mark.valid)
      #expect(before?.has(Mark.valid) == true && reference.pointee.seen.own == 1)
      #expect(reference.pointee.signal(0, wake: true) == nil && reference.pointee.seen.bits & Mark.all == 0)
    }
  }
}
