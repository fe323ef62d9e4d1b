// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Free slots of one kind that a loop's thread has for itself: it takes and gives back without the slab's gate.
/// All-zero bytes are none.
///
/// They are a chain, in which each names the next, and besides perhaps a *batch*, which is a chain of exactly `most`
/// slots. What does not fit is passed on to the slab by batches, each by one change under the gate, and batches come
/// from there: so a thread that creates and ends objects, however many, enters the gate once for `most` of them. It
/// keeps at most twice that from other threads, until it ends.
///
/// They lie behind the state of the thread's loop, in the loop's slot.
package struct OwnSlots: ~Copyable {
  /// The first of the chain; 0 for none. Owner.
  var first: UInt32
  /// How many slots the chain has. Owner.
  var count: UInt32
  /// The first slot of the batch; 0 for none. Owner.
  var batch: UInt32

  /// Few in the explorer, which plays each step.
  @inline(__always)
  static var most: UInt32 { treadle_system_is_explored() ? 2 : 32 }

  /// Of these four kinds of items. A port needs other memory besides.
  @inline(__always)
  private static var kinds: ClosedRange<UInt32> { Kind.source.rawValue...Kind.descriptor.rawValue }
  static var room: Int { kinds.count &* MemoryLayout<OwnSlots>.stride }

  @inline(__always)
  static func of(_ kind: UInt32, loop: UnsafeMutableRawPointer) -> UnsafeMutablePointer<OwnSlots> {
    (loop + Slab.roomOfLoop).assumingMemoryBound(to: OwnSlots.self) + Int(kind &- kinds.lowerBound)
  }

  /// The calling thread's; nil of other kinds, and for a thread without a loop.
  @inline(__always)
  fileprivate static func ofThread(_ kind: UInt32) -> UnsafeMutablePointer<OwnSlots>? {
    guard kinds.contains(kind), let loop = treadle_system_thread().pointee.loop, Runtime.isStarted else { return nil }
    return of(kind, loop: loop)
  }

  /// Passes all slots of a loop's thread on: it ends. Owner.
  package static func passOn(loop: UnsafeMutableRawPointer) {
    for kind in kinds { Slab(number: kind).passOn(of(kind, loop: loop)) }
  }

  package static func areNone(loop: UnsafeMutableRawPointer) -> Bool {
    kinds.allSatisfy { of($0, loop: loop).pointee.isEmpty }
  }

  /// What is broken, in words; nil for nothing. Owner.
  package static func brokenInvariant(loop: UnsafeMutableRawPointer) -> StaticString? {
    for kind in kinds { if let broken = Slab(number: kind).brokenInvariant(of(kind, loop: loop)) { return broken } }
    return nil
  }

  fileprivate var isEmpty: Bool { first == 0 && batch == 0 }
}

extension Slab {
  /// A free slot, as by `take`: of the calling thread's own, if it has any.
  @inline(__always)
  package func takeOwn() -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    guard let own = OwnSlots.ofThread(number) else { return take() }
    return take(own) ?? takeOfBatch(own)
  }

  @inline(__always)
  private func take(_ own: UnsafeMutablePointer<OwnSlots>) -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    let slot = own.pointee.first
    guard slot != 0, let memory = memory(slot) else { return nil }
    own.pointee.first = Slab.freeSlot(memory).pointee.next
    own.pointee.count &-= 1
    return (slot, memory)
  }

  /// The chain is empty: its place takes a batch, the thread's or one of the slab's. Where there is none, one of the
  /// slab's other slots.
  @inline(never)
  private func takeOfBatch(_ own: UnsafeMutablePointer<OwnSlots>) -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    var batch = own.pointee.batch
    own.pointee.batch = 0
    if batch == 0 {
      lock()
      batch = takeBatch()
      if batch == 0 { return takeShared() }
      unlock()
    }
    own.pointee.first = batch
    own.pointee.count = OwnSlots.most
    return take(own)
  }

  /// Gives a slot back, as `giveBack` does: to the calling thread's own, if it has a loop.
  @inline(__always)
  package func giveBackOwn(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    guard let own = OwnSlots.ofThread(number) else { return giveBack(slot, memory) }
    if own.pointee.count == OwnSlots.most { passOnBatch(own) }
    Slab.freeSlot(memory).pointee.next = own.pointee.first
    own.pointee.first = slot
    own.pointee.count &+= 1
  }

  /// The chain is a batch: it takes the place of the one before, which is passed on.
  @inline(never)
  private func passOnBatch(_ own: UnsafeMutablePointer<OwnSlots>) {
    if own.pointee.batch != 0 {
      lock()
      addBatch(own.pointee.batch)
      unlock()
    }
    own.pointee.batch = own.pointee.first
    own.pointee.first = 0
    own.pointee.count = 0
  }

  fileprivate func passOn(_ own: UnsafeMutablePointer<OwnSlots>) {
    if own.pointee.isEmpty { return }
    var last = own.pointee.first
    while last != 0, let memory = memory(last), Slab.freeSlot(memory).pointee.next != 0 {
      last = Slab.freeSlot(memory).pointee.next
    }
    lock()
    if last != 0 { addChain(from: own.pointee.first, to: last) }
    if own.pointee.batch != 0 { addBatch(own.pointee.batch) }
    unlock()
    own.pointee.first = 0
    own.pointee.count = 0
    own.pointee.batch = 0
  }

  fileprivate func brokenInvariant(_ own: UnsafeMutablePointer<OwnSlots>) -> StaticString? {
    guard let count = length(own.pointee.first), let inBatch = length(own.pointee.batch) else {
      return "a free slot has no object"
    }
    if count != own.pointee.count { return "the chain of free slots has as many as are counted" }
    if own.pointee.batch != 0 && inBatch != OwnSlots.most { return "a batch of free slots is a full chain" }
    return nil
  }

  /// How many slots a chain has; of one that is too long, or a circle, one more than a chain may have. Nil if there is
  /// an object in one of them.
  private func length(_ first: UInt32) -> UInt32? {
    var (count, slot) = (UInt32(0), first)
    while count <= OwnSlots.most, slot != 0, let memory = memory(slot) {
      if !Slab.freeSlot(memory).pointee.reference.seen.isGone { return nil }
      count &+= 1
      slot = Slab.freeSlot(memory).pointee.next
    }
    return count
  }
}
