// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// The home of all objects of one kind: numbered slots of one size that never move and are never given
/// back to the system, so that a stale handle or a late signal finds an old object's slot, sees another
/// generation there, and does no harm.
///
/// Every object starts with a `Reference`. Slot 0 is never used: it means "none".
///
/// Slots come in chunks of 4,096. Of the usual kinds, the first few lie together in static memory (`home`): they are
/// the last of their chunk 0, which has no others, so that all slots in use follow one another and one comparison
/// refuses the rest. A small program then has all that it writes to in one page.
package struct Slab {
  package let kind: Kind

  @inline(__always)
  package init(_ kind: Kind) { self.kind = kind }

  private static let slotsOfChunk: UInt32 = 4096
  private static let slotsOfPiece: UInt32 = 1024

  /// Where the first slots of a kind lie in the home's room; how many there are follows from the number of the first.
  /// In steps of 64: loops at 0, modes at 512, threads at 1280, timers at 1536, sources at 1728, observers' and
  /// descriptors' at 1920.
  private var home: Int { number(0x1E1E_1E1E_181B_001E, 0x1E08_1E1E_1E1E_141E) &* 64 }
  /// The lowest slot that is ever used; 1 for kinds that have none at home.
  @inline(__always)
  var first: UInt32 { treadle_system_first_slot(kind.rawValue) }
  private static let capacity: UInt32 = 4096 &* 4096

  /// Guarded by `gate`.
  struct State: ~Copyable {
    let gate: Gate
    var used: UInt32  // slots first...used have been used; 0: none
    var ready: UInt32  // slots first...ready have memory
    var free: UInt32  // the first of a chain of free slots; each names the next
    var freeCount: UInt32  // how many there are in that chain: up to a group's (`SlotStock`)
    var groups: UInt32  // the first slot of the first such group; it names the next group's, too
  }
  var state: UnsafeMutablePointer<State> {
    treadle_system_slab(kind.rawValue).assumingMemoryBound(to: State.self)
  }

  /// How a free slot starts: its reference, which keeps the generation; flags, which a late signal may
  /// still touch; then the next free slot.
  struct FreeSlot: ~Copyable {
    let reference: Reference
    let touched: UInt64
    var next: UInt32
    var nextGroup: UInt32
  }

  /// Room for one object of this kind. The slab of a kind is used with one size only.
  /// In steps of 8: a loop 512, a mode 384, a thread 256, a host 128, a lock or condition 96, a timer 64, an observer 40,
  /// all others 48.
  @inline(__always)
  var stride: Int { number(0x0606_0605_0806_4006, 0x0630_0606_0C0C_2010) &* 8 }

  /// One byte of 16 for each kind, the last first. A `switch` would become a table among the constants, in a page of its
  /// own for every program.
  @inline(__always)
  private func number(_ below8: UInt64, _ from8: UInt64) -> Int {
    let bytes = kind.rawValue < 8 ? below8 : from8
    return Int(truncatingIfNeeded: bytes &>> (UInt64(kind.rawValue & 7) &* 8) & 0xFF)
  }

  /// The memory of a slot that was allocated once; nil where there is no chunk.
  /// Numbers from outside must not be below `first`: before the slots at home lies other memory.
  @inline(__always)
  package func memory(_ slot: UInt32) -> UnsafeMutableRawPointer? {
    guard let chunk = treadle_system_chunk(kind.rawValue, slot >> 12) else { return nil }
    return chunk + Int(slot & 4095) &* stride
  }

  @inline(__always)
  private func reference(_ slot: UInt32) -> UnsafeMutablePointer<Reference>? {
    memory(slot)?.assumingMemoryBound(to: Reference.self)
  }

  /// The object that a handle means.
  @inline(__always)
  package func find(_ handle: Handle) -> UnsafeMutableRawPointer? {
    guard let memory = locate(handle),
      memory.assumingMemoryBound(to: Reference.self).pointee.isLive(generation: handle.generation)
    else { return nil }
    return memory
  }

  /// The memory of the slot that a handle names, whatever lives there.
  @inline(__always)
  package func locate(_ handle: Handle) -> UnsafeMutableRawPointer? {
    guard handle.isPlausible(kind), handle.slot >= first else { return nil }
    return memory(handle.slot)
  }

  package func isLive(slot: UInt32, generation: UInt32) -> Bool {
    guard slot >= first, let reference = reference(slot) else { return false }
    return reference.pointee.isLive(generation: generation)
  }

  /// A slot whose reference is the client's, the rest of it as its last user left it (zero at first).
  @inline(never)
  package func allocate() -> UInt32? {
    let slot = allocateInline(own: 0, clients: 1)
    return slot == 0 ? nil : slot
  }

  /// The same in place, with so many references; 0 when there is no memory.
  @inline(__always)
  package func allocateInline(own: UInt64, clients: UInt64) -> UInt32 {
    let state = self.state
    state.pointee.gate.lock()
    let slot = state.pointee.free
    guard slot != 0, let memory = memory(slot) else { return allocateOther(own: own, clients: clients) }
    state.pointee.free = next(memory)
    state.pointee.freeCount = state.pointee.freeCount &- 1
    memory.assumingMemoryBound(to: Reference.self).pointee.begin(own: own, clients: clients)
    state.pointee.gate.unlock()
    return slot
  }

  /// The first of a group, or one that nobody has had yet. The gate is held, and opened here.
  @inline(never)
  private func allocateOther(own: UInt64, clients: UInt64) -> UInt32 {
    let state = self.state
    defer { state.pointee.gate.unlock() }
    var slot = takeGroup().first
    if slot != 0, let memory = memory(slot) {
      state.pointee.free = next(memory)
      state.pointee.freeCount = Slab.slotsOfGroup &- 1
    } else {
      slot = max(state.pointee.used &+ 1, first)
      if slot > state.pointee.ready && !makeRoom(slot) { return 0 }
      state.pointee.used = slot
    }
    reference(slot)?.pointee.begin(own: own, clients: clients)
    return slot
  }

  /// Gives a slot back. Whoever dropped its last reference calls this once.
  @inline(never)
  package func free(_ slot: UInt32) {
    guard let memory = memory(slot) else { return }
    freeInline(slot, memory)
  }

  /// The same in place.
  @inline(__always)
  package func freeInline(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    let state = self.state
    state.pointee.gate.lock()
    memory.assumingMemoryBound(to: FreeSlot.self).pointee.reference.end()
    pushFree(slot, memory)
    state.pointee.gate.unlock()
  }

  /// Memory for a slot and those behind it. Has the kernel provide the memory of a large slab in pieces, which takes
  /// two thirds as long as page by page where it is touched first; a piece is a sixteenth of what is there at most, and a
  /// small slab costs no more than what is used of it.
  @inline(never)
  func makeRoom(_ slot: UInt32) -> Bool {
    guard slot < Slab.capacity else { return false }
    if memory(slot) == nil {
      var chunk: UnsafeMutableRawPointer?
      if slot == first && first > 1 {
        // Where the chunk would begin if all of it were there.
        chunk = treadle_system_room() + home - Int(first) &* stride
      } else {
        chunk = treadle_system_zeroed(Int(Slab.slotsOfChunk) &* stride)
      }
      guard let chunk else { return false }
      treadle_system_set_chunk(kind.rawValue, slot >> 12, chunk)
    }
    var piece = Slab.slotsOfPiece
    if slot >= Slab.slotsOfChunk, let memory = memory(slot) {
      while piece > slot / 16 { piece /= 2 }
      treadle_system_provide(memory, Int(piece) &* stride)
    }
    state.pointee.ready = slot | (piece &- 1)
    return true
  }

  /// Calls `body` with each slot that holds an object now. For rare searches: it looks at all of them.
  package func forEachLive(_ body: (UInt32, UnsafeMutableRawPointer) -> Bool) {
    state.pointee.gate.lock()
    let used = state.pointee.used
    state.pointee.gate.unlock()
    var slot = first
    while slot <= used {
      if let memory = memory(slot), memory.assumingMemoryBound(to: Reference.self).pointee.isLive,
        !body(slot, memory)
      {
        return
      }
      slot &+= 1
    }
  }

  /// Forgets every object, in the child of a fork: their memory is left as it is. That at home is not used again.
  func forgetAll() {
    var index: UInt32 = 0
    while index < UInt32(TREADLE_SYSTEM_CHUNKS) {
      // Only what is there is written: the rest of the table would cost the child memory.
      if treadle_system_chunk(kind.rawValue, index) != nil { treadle_system_set_chunk(kind.rawValue, index, nil) }
      index &+= 1
    }
    state.pointee.used = first > 1 ? Slab.slotsOfChunk &- 1 : 0
    state.pointee.ready = 0
    state.pointee.free = 0
    state.pointee.freeCount = 0
    state.pointee.groups = 0
    state.pointee.gate.unlock()
  }
}
