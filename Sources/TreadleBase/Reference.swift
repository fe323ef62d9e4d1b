// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization

/// The first word of every object in a slab: which generation lives there, and how many references
/// keep it alive. Clients' references and our own are counted apart, so that a client which releases
/// once too often cannot take what a mode or a running callback holds.
///
///     63..40       39..20    19..0
///     generation   clients   internal
///
/// All-zero bytes are a free slot of generation 0.
package struct Reference: ~Copyable {
  private let word: Atomic<UInt64>

  package static let maximum: UInt64 = 0xF_FFFF
  private static let client: UInt64 = 1 << 20

  @inline(__always)
  package var generation: UInt32 { UInt32(truncatingIfNeeded: word.load(ordering: .relaxed) >> 40) }

  @inline(__always)
  package var isLive: Bool { word.load(ordering: .acquiring) & 0xFF_FFFF_FFFF != 0 }

  @inline(__always)
  package borrowing func isLive(generation: UInt32) -> Bool {
    let now = word.load(ordering: .acquiring)
    return UInt32(truncatingIfNeeded: now >> 40) == generation && now & 0xFF_FFFF_FFFF != 0
  }

  /// Our own references, as of now; for those who wait until none but theirs is left.
  package var internalCount: Int { Int(word.load(ordering: .sequentiallyConsistent) & Reference.maximum) }

  /// Whether the client owns one, as of now.
  package var hasClients: Bool { word.load(ordering: .sequentiallyConsistent) >> 20 & Reference.maximum != 0 }

  /// Begins a life with so many references, of which there must be one. The caller owns the free slot.
  @inline(__always)
  package borrowing func begin(own: UInt64, clients: UInt64) {
    let counts = own | clients &* Reference.client
    word.store(word.load(ordering: .relaxed) & ~0xFF_FFFF_FFFF | counts, ordering: .releasing)
  }

  /// Ends a life: every handle and every queued mention of it is stale from here on.
  @inline(__always)
  package borrowing func end() {
    let next = (word.load(ordering: .relaxed) >> 40 &+ 1) & 0xFF_FFFF
    word.store(next << 40, ordering: .releasing)
  }

  /// The same for one who knows that one of ours is left, if the client's only one is the only other: both are dropped.
  @inline(__always)
  package borrowing func endLast(generation: UInt32) -> Bool {
    let counts = UInt64(generation) << 40 | Reference.client | 1
    let next = (UInt64(generation) &+ 1) & 0xFF_FFFF
    return word.compareExchange(expected: counts, desired: next << 40, ordering: .acquiringAndReleasing).exchanged
  }

  /// Adds one of our own references, if the object is still the one meant.
  @inline(__always)
  package borrowing func retain(generation: UInt32) -> Bool {
    var now = word.load(ordering: .relaxed)
    while true {
      if UInt32(truncatingIfNeeded: now >> 40) != generation || now & 0xFF_FFFF_FFFF == 0 { return false }
      if now & Reference.maximum == Reference.maximum { return false }
      let (exchanged, original) = word.weakCompareExchange(
        expected: now, desired: now &+ 1, ordering: .acquiringAndReleasing)
      if exchanged { return true }
      now = original
    }
  }

  /// Adds one of our own references where one is held already.
  @inline(__always)
  package borrowing func retainHeld() { word.wrappingAdd(1, ordering: .relaxed) }

  /// Drops one of our own references; true when it was the last of all and the caller must free.
  @inline(__always)
  package borrowing func release() -> Bool { release(1) }

  /// The same for several at once.
  @inline(__always)
  package borrowing func release(_ count: UInt64) -> Bool {
    word.wrappingSubtract(count, ordering: .sequentiallyConsistent).newValue & 0xFF_FFFF_FFFF == 0
  }

  /// Adds a reference of the client's.
  package borrowing func retainForClient(generation: UInt32) -> Int32 {
    var now = word.load(ordering: .relaxed)
    while true {
      if UInt32(truncatingIfNeeded: now >> 40) != generation || now & 0xFF_FFFF_FFFF == 0 { return Status.stale }
      if now >> 20 & Reference.maximum == Reference.maximum { return Status.range }
      let (exchanged, original) = word.weakCompareExchange(
        expected: now, desired: now &+ Reference.client, ordering: .acquiringAndReleasing)
      if exchanged { return Status.ok }
      now = original
    }
  }

  /// What became of a reference that a client returned.
  package enum Returned {
    case stale
    case notLast
    /// The caller must free.
    case last
  }

  /// Drops a reference of the client's; stale when the client owns none.
  @inline(__always)
  package borrowing func releaseForClient(generation: UInt32) -> Returned {
    var now = word.load(ordering: .relaxed)
    while true {
      if UInt32(truncatingIfNeeded: now >> 40) != generation || now >> 20 & Reference.maximum == 0 { return .stale }
      let (exchanged, original) = word.weakCompareExchange(
        expected: now, desired: now &- Reference.client, ordering: .sequentiallyConsistent)
      if exchanged { return (now &- Reference.client) & 0xFF_FFFF_FFFF == 0 ? .last : .notLast }
      now = original
    }
  }

  /// Turns a reference of the client's into one of ours, which the caller then drops; stale when the
  /// client owns none.
  package borrowing func surrenderClient(generation: UInt32) -> Int32 {
    var now = word.load(ordering: .relaxed)
    while true {
      if UInt32(truncatingIfNeeded: now >> 40) != generation || now >> 20 & Reference.maximum == 0 {
        return Status.stale
      }
      let (exchanged, original) = word.weakCompareExchange(
        expected: now, desired: now &- Reference.client &+ 1, ordering: .acquiringAndReleasing)
      if exchanged { return Status.ok }
      now = original
    }
  }
}
