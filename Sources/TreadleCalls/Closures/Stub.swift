// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization

/// A function pointer that calls lead through to a closure: a thin handle for its slot.
struct Stub {
  let slot: UnsafeMutablePointer<StubSlot>

  @inline(__always)
  init(_ slot: UnsafeMutablePointer<StubSlot>) { self.slot = slot }

  @inline(__always)
  init(_ memory: UnsafeMutableRawPointer) { slot = memory.assumingMemoryBound(to: StubSlot.self) }

  @inline(__always)
  private var word: StubWord { StubWord(bits: slot.pointee.word.load(ordering: .acquiring)) }

  @inline(__always)
  private func replace(_ old: StubWord, by new: UInt64) -> Bool {
    slot.pointee.word.compareExchange(expected: old.bits, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  @inline(__always)
  var body: UnsafeMutablePointer<ClosureBody>? {
    slot.pointee.body.load(ordering: .acquiring)?.assumingMemoryBound(to: ClosureBody.self)
  }
  func hasFlag(_ flag: UInt32) -> Bool { slot.pointee.flags & flag != 0 }

  // MARK: Calls

  /// A call begins; the closure is not destroyed before `leave`. False when the stub is a tombstone.
  @inline(__always)
  func enter() -> Bool {
    while true {
      let now = word
      if now.phase != StubWord.Phase.active { return false }
      if replace(now, by: now.bits &+ StubWord.call) { return true }
    }
  }

  /// One more of a closure that a call is inside of.
  @inline(__always)
  func enterAgain() { slot.pointee.word.add(StubWord.call, ordering: .relaxed) }

  /// The call is over. True when it was the last one of a retired closure, whose end is the caller's to make.
  @inline(__always)
  func leave() -> Bool {
    let now = StubWord(bits: slot.pointee.word.subtract(StubWord.call, ordering: .sequentiallyConsistent).newValue)
    return now.isDrainable && drain()
  }

  /// No call begins any more. True when none goes on, and the closure's end is the caller's to make.
  func retire() -> Bool {
    while true {
      let now = word
      let isLast = now.calls == 0
      if replace(now, by: now.with(phase: isLast ? StubWord.Phase.drained : StubWord.Phase.retired).bits) {
        return isLast
      }
    }
  }

  /// True for the one who finds that a retired closure's last call has ended.
  private func drain() -> Bool {
    while true {
      let now = word
      if !now.isDrainable { return false }
      if replace(now, by: now.with(phase: StubWord.Phase.drained).bits) { return true }
    }
  }

  // MARK: Tombstones

  /// Lets a call on a tombstone look at the closure until `endReading`; nil when there is none any more.
  func beginReading() -> UnsafeMutablePointer<ClosureBody>? {
    while true {
      let now = word
      if now.phase == StubWord.Phase.blank || now.phase == StubWord.Phase.active { return nil }
      if replace(now, by: now.bits &+ StubWord.reader) { return body }
    }
  }
  func endReading() { slot.pointee.word.subtract(StubWord.reader, ordering: .releasing) }

  // MARK: Using it again

  /// Makes a tombstone blank; false while somebody looks at it.
  func clear() -> Bool { word.isFree && replace(StubWord.drained, by: 0) }

  /// From now on calls lead to the closure that `slot.body` names.
  func activate() { slot.pointee.word.store(StubWord.active.bits, ordering: .releasing) }

  /// A tombstone of a closure that was made before a fork, whoever was inside of it there.
  func inherit() { slot.pointee.word.store(StubWord.drained.bits, ordering: .releasing) }
}
