// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

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

  /// The call is over. True when it was the last one of a retired closure, whose end is the caller's to make. All that
  /// decides on that is in the one word.
  @inline(__always)
  func leave() -> Bool {
    let now = StubWord(bits: slot.pointee.word.subtract(StubWord.call, ordering: .acquiringAndReleasing).newValue)
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

  /// What a call on a tombstone looks at, until `endReading` if the stub counts it.
  struct Reading {
    let body: UnsafeMutablePointer<ClosureBody>?
    let isCounted: Bool
  }

  /// Nil when there is no closure any more.
  func beginReading() -> Reading? {
    while true {
      let now = word
      if now.phase == StubWord.Phase.blank || now.phase == StubWord.Phase.active { return nil }
      if now.isSealed { return Reading(body: body, isCounted: false) }
      if replace(now, by: now.bits &+ StubWord.reader) { return Reading(body: body, isCounted: true) }
    }
  }
  func endReading(_ reading: Reading) {
    if reading.isCounted { slot.pointee.word.subtract(StubWord.reader, ordering: .releasing) }
  }

  /// True the first time that a call that looks at this tombstone asks.
  func setReported() -> Bool {
    slot.pointee.word.bitwiseOr(StubWord.reported, ordering: .relaxed).oldValue & StubWord.reported == 0
  }

  /// The closure that calls lead to from now on. Returns the former one, which the stub gives up.
  func name(_ body: ClosureBody.Pointer) -> ClosureBody.Pointer? {
    let former = slot.pointee.body.exchange(UnsafeMutableRawPointer(body), ordering: .acquiringAndReleasing)
    return former?.assumingMemoryBound(to: ClosureBody.self)
  }

  /// Has a tombstone name a body that is never freed, and give up its own. False if that is not to be: a call looks at
  /// it, or the stub serves another closure, which has given it up.
  func rename(_ own: ClosureBody.Pointer, _ shared: ClosureBody.Pointer) -> Bool {
    let (own, shared) = (UnsafeMutableRawPointer(own), UnsafeMutableRawPointer(shared))
    let renamed = slot.pointee.body.compareExchange(expected: own, desired: shared, ordering: .acquiringAndReleasing)
    if !renamed.exchanged { return false }
    // Calls that begin to look now look at the other.
    if StubWord(bits: slot.pointee.word.add(0, ordering: .acquiringAndReleasing).newValue).readers == 0 { return true }
    // If it is not named any more, another closure has taken the stub, which it could not while a call looked.
    return !slot.pointee.body.compareExchange(expected: shared, desired: own, ordering: .acquiringAndReleasing)
      .exchanged
  }

  /// The tombstone of a kept pointer names another body from now on, which is never freed. When this returns no call
  /// looks at the former one.
  func seal(naming shared: ClosureBody.Pointer) {
    slot.pointee.body.store(UnsafeMutableRawPointer(shared), ordering: .releasing)
    var now = StubWord(bits: slot.pointee.word.bitwiseOr(StubWord.seal, ordering: .acquiringAndReleasing).newValue)
    // Calls that come now are not counted, and those that are do nothing but copy a result.
    var patience = Patience()
    while now.readers != 0 {
      patience.wait()
      now = word
    }
  }

  // MARK: Using it again

  /// Makes a tombstone blank; false while somebody looks at it.
  func clear() -> Bool {
    let now = word
    return now.isFree && replace(now, by: 0)
  }

  /// From now on calls lead to the closure that `slot.body` names.
  func activate() { slot.pointee.word.store(StubWord.active.bits, ordering: .releasing) }

  /// A tombstone of a closure that was made before a fork, whoever was inside of it there.
  func inherit() { slot.pointee.word.store(StubWord.drained.bits, ordering: .releasing) }
}
