// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A place in the table of objects. Its memory is never given back, so that looking up a released
/// reference is harmless: the generation does not fit any more.
struct Slot {
  let pointer: UnsafeMutablePointer<treadle_cf_slot>
  let number: UInt32

  private static let generations: UInt32 = 0xFFF_FFFF
  private static let pinned: UInt64 = 0x8000_0000

  /// The place that a reference names, whether it is alive or not.
  @inline(__always)
  private init?(_ reference: UInt) {
    guard reference >> 56 == 0xCF, reference & 15 == 0 else { return nil }
    let number = UInt32(truncatingIfNeeded: reference >> 4) & 0xFF_FFFF
    guard let pointer = treadle_cf_slot(number) ?? Constants.slot(number) else { return nil }
    self.pointer = pointer
    self.number = number
  }

  private init(number: UInt32, pointer: UnsafeMutablePointer<treadle_cf_slot>) {
    self.number = number
    self.pointer = pointer
  }

  /// A living object with one more on its count; nil for NULL, a released or a foreign reference.
  @inline(__always)
  static func hold(_ reference: UInt) -> Slot? {
    guard let slot = Slot(reference),
      treadle_cf_hold(slot.pointer, UInt32(truncatingIfNeeded: reference >> 28) & generations)
    else { return nil }
    return slot
  }

  @inline(__always)
  static func hold(_ reference: UInt, _ kind: Kind) -> Slot? {
    guard let slot = hold(reference) else { return nil }
    if slot.pointer.pointee.kind == kind.rawValue { return slot }
    slot.drop()
    return nil
  }

  /// Takes one from the count; the last frees the object.
  @inline(__always)
  func drop() {
    if treadle_cf_drop(pointer) { free() }
  }

  var kind: Kind? { Kind(rawValue: pointer.pointee.kind) }

  /// The count, for debugging; an object that is never freed has the largest.
  var count: Int {
    let word = treadle_cf_word(pointer)
    return word & Slot.pinned != 0 ? Int.max : Int(UInt32(truncatingIfNeeded: word))
  }

  var reference: UInt {
    0xCF << 56 | UInt(treadle_cf_word(pointer) >> 32) << 28 | UInt(number) << 4
  }

  /// A new object, with one reference for its maker; 0 if there is no memory, and the body is freed then.
  static func make(_ kind: Kind, _ body: UnsafeMutableRawPointer?) -> UInt {
    guard let body else { return 0 }
    guard let slot = Slot.allocate() else {
      destroy(kind, body)
      return 0
    }
    slot.pointer.pointee.kind = kind.rawValue
    slot.pointer.pointee.body = body
    let generation = treadle_cf_word(slot.pointer) >> 32
    treadle_cf_set_word(slot.pointer, generation << 32 | 1)
    return slot.reference
  }

  /// A constant, in its own place; called under the table's lock.
  static func pin(_ number: Int, _ kind: Kind, _ body: UnsafeMutableRawPointer?) {
    guard let pointer = treadle_cf_slot(UInt32(number)) else { return }
    pointer.pointee.kind = kind.rawValue
    pointer.pointee.body = body
    treadle_cf_set_word(pointer, pinned | 1)
  }

  /// Makes an object immortal.
  func pin() { treadle_cf_set_word(pointer, treadle_cf_word(pointer) | Slot.pinned) }

  private static func allocate() -> Slot? {
    Constants.prepare()
    treadle_cf_lock(Int32(TREADLE_CF_LOCK_SLOTS))
    defer { treadle_cf_unlock(Int32(TREADLE_CF_LOCK_SLOTS)) }
    let free = treadle_cf_shared().pointee.free_slots
    if free != 0, let pointer = treadle_cf_slot(free) {
      treadle_cf_shared().pointee.free_slots = pointer.pointee.next
      return Slot(number: free, pointer: pointer)
    }
    let number = treadle_cf_shared().pointee.used &+ 1
    guard number < 0xFF_FFFF, let pointer = makeRoom(number) else { return nil }
    treadle_cf_shared().pointee.used = number
    return Slot(number: number, pointer: pointer)
  }

  /// The place, in memory that is allocated if need be; called under the table's lock.
  static func makeRoom(_ number: UInt32) -> UnsafeMutablePointer<treadle_cf_slot>? {
    if let pointer = treadle_cf_slot(number) { return pointer }
    let size = Int(TREADLE_CF_SLOTS_OF_CHUNK) &* MemoryLayout<treadle_cf_slot>.stride
    guard let chunk = treadle_cf_allocate(size) else { return nil }
    treadle_cf_set_chunk(number >> 12, chunk.assumingMemoryBound(to: treadle_cf_slot.self))
    return treadle_cf_slot(number)
  }

  @inline(never)
  private func free() {
    let kind = self.kind
    let body = pointer.pointee.body
    pointer.pointee.body = nil
    let next = UInt32(truncatingIfNeeded: treadle_cf_word(pointer) >> 32) &+ 1 & Slot.generations
    treadle_cf_set_word(pointer, UInt64(next) << 32)
    treadle_cf_lock(Int32(TREADLE_CF_LOCK_SLOTS))
    pointer.pointee.next = treadle_cf_shared().pointee.free_slots
    treadle_cf_shared().pointee.free_slots = number
    treadle_cf_unlock(Int32(TREADLE_CF_LOCK_SLOTS))
    if let kind, let body { destroy(kind, body) }
  }
}
