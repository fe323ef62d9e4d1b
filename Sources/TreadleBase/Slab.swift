// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// The home of all objects of one kind: numbered slots of one size that never move and are never given back to the
/// system, so that a stale handle or a late signal finds an old object's slot, sees another generation there, and does
/// no harm.
///
/// Every object starts with a `Reference`. Slot 0 is never used: it means "none". Slots come in chunks of 4,096.
package struct Slab {
  /// The kind's raw value.
  let number: UInt32

  @inline(__always)
  package init(_ kind: Kind) { number = kind.rawValue }
  @inline(__always)
  package init(number: UInt32) { self.number = number }

  private static let slotsOfChunk: UInt32 = 4096
  private static let capacity = UInt32(TREADLE_SYSTEM_CHUNKS) &* slotsOfChunk

  /// Guarded by `gate`.
  private struct State: ~Copyable {
    let gate: Gate
    /// Slots 1...used have been used.
    var used: UInt32
    /// The first of a chain of free slots; each names the next.
    var free: UInt32
    /// The first of a list of batches (`OwnSlots`); each names the next in its first slot.
    var batches: UInt32
  }
  private var state: UnsafeMutablePointer<State> {
    // C has room for what a slab knows of itself.
    checkInBuild(MemoryLayout<State>.size <= MemoryLayout<treadle_system_slab>.size)
    return treadle_system_slab(number).assumingMemoryBound(to: State.self)
  }

  /// How a free slot starts: its reference, which keeps the generation; what late callers may still look at; then the
  /// next free slot, and of the first slot of a batch the next batch.
  struct FreeSlot: ~Copyable {
    let reference: Reference
    let touched: UInt64
    var next: UInt32
    var nextBatch: UInt32
  }

  /// Room for one object of this kind (`checkRoom`).
  @inline(__always)
  var stride: Int {
    switch number {
    case Kind.loop.rawValue: Slab.roomOfLoop &+ 64
    case Kind.mode.rawValue: 320
    case Kind.thread.rawValue: 256
    case Kind.scope.rawValue: 160
    case Kind.host.rawValue, Kind.port.rawValue, Kind.message.rawValue: 128
    case Kind.lock.rawValue, Kind.condition.rawValue: 96
    case Kind.timer.rawValue: 64
    default: 48
    }
  }
  /// The room of a loop's state. The free slots that its thread has are behind that, and fill no more than another
  /// cache line.
  @inline(__always)
  static var roomOfLoop: Int { 640 }
  @inline(__always)
  package func fits(_ size: Int) -> Bool {
    if number == Kind.loop.rawValue { return size <= Slab.roomOfLoop && Slab.roomOfLoop &+ OwnSlots.room <= stride }
    return size <= stride
  }
  /// No build has a state that is larger than its slot. The kind is a constant.
  @inline(__always)
  package func checkRoom<State: ~Copyable>(for type: State.Type) {
    checkInBuild(fits(MemoryLayout<State>.size))
  }

  /// The memory of a slot that was allocated once; nil where there is no chunk.
  @inline(__always)
  package func memory(_ slot: UInt32) -> UnsafeMutableRawPointer? {
    guard let chunk = treadle_system_chunk(number, slot >> 12) else { return nil }
    return chunk + Int(slot & (Slab.slotsOfChunk &- 1)) &* stride
  }

  @inline(__always)
  private static func reference(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Reference> {
    memory.assumingMemoryBound(to: Reference.self)
  }
  @inline(__always)
  static func freeSlot(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<FreeSlot> {
    memory.assumingMemoryBound(to: FreeSlot.self)
  }

  // MARK: Finding

  /// The memory of the slot that a handle names, whatever lives there.
  @inline(__always)
  package func locate(_ handle: Handle) -> UnsafeMutableRawPointer? {
    handle.isPlausible(number) && handle.slot != 0 ? memory(handle.slot) : nil
  }

  /// The object that a handle means, as of now.
  @inline(__always)
  package func find(_ handle: Handle) -> UnsafeMutableRawPointer? {
    guard let memory = locate(handle), Slab.reference(memory).pointee.isLive(handle.generation) else { return nil }
    return memory
  }

  /// Whether the life that a handle means is over, with all that belongs to its end: also the release of what came with
  /// it, which is called when nobody refers to the object any more.
  @inline(never)
  package func isOver(_ handle: Handle) -> Bool {
    guard let memory = locate(handle) else { return true }
    return Slab.reference(memory).pointee.seen.generation != handle.generation
  }

  /// The same; if it is not, `Rest` tells when it is.
  @inline(never)
  package func isOverOrAwaited(_ handle: Handle) -> Bool {
    guard let memory = locate(handle) else { return true }
    if Slab.reference(memory).pointee.exchange(handle.generation, needs: 0, set: Reference.Mark.awaited, clear: 0)
      != nil
    {
      return false
    }
    // Nothing was exchanged: the look acquires what belongs to the end.
    return Slab.reference(memory).pointee.seen.generation != handle.generation
  }

  /// The object that a client's handle means, with a reference that the caller drops.
  @inline(__always)
  package func hold(_ bits: UInt, _ subject: StaticString) throws(Failure) -> UnsafeMutableRawPointer {
    let handle = Handle(bits: bits)
    guard let memory = locate(handle) else { throw handle.failure(subject) }
    if !Slab.reference(memory).pointee.hold(handle.generation) { throw handle.failure(subject) }
    return memory
  }

  /// Calls `body` with each slot that holds an object now, until it answers false. For rare searches: it looks at all.
  package func forEachLive(_ body: (UInt32, UnsafeMutableRawPointer) -> Bool) {
    lock()
    let used = state.pointee.used
    unlock()
    var slot: UInt32 = 1
    while slot <= used {
      if let memory = memory(slot), !Slab.reference(memory).pointee.seen.isGone, !body(slot, memory) { return }
      slot &+= 1
    }
  }

  // MARK: References of clients

  package func retainForClient(_ bits: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: bits)
    guard let memory = locate(handle) else { throw handle.failure(subject) }
    switch Slab.reference(memory).pointee.retainForClient(handle.generation) {
    case Status.ok: break
    case Status.range: throw Failure(Status.range, subject, "has as many references as it can have")
    default: throw handle.failure(subject)
    }
  }

  /// Turns a reference that the client owns into one that the caller drops.
  package func surrender(_ bits: UInt, _ subject: StaticString) throws(Failure) -> UnsafeMutableRawPointer {
    let handle = Handle(bits: bits)
    guard let memory = find(handle) else { throw handle.failure(subject) }
    if !Slab.reference(memory).pointee.surrenderClient(handle.generation) {
      throw Failure(Status.stale, subject, "was released more often than retained")
    }
    return memory
  }

  // MARK: Slots

  /// A free slot, with the memory as its last user left it (zero at first): its life begins with `Reference.begin`. Nil
  /// when there is no memory.
  @inline(__always)
  package func take() -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    lock()
    return takeShared()
  }

  /// The same. The gate is closed, and opened here.
  @inline(__always)
  func takeShared() -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    let state = self.state
    if state.pointee.free == 0 { state.pointee.free = takeBatch() }
    let slot = state.pointee.free
    guard slot != 0, let memory = memory(slot) else { return takeUnused() }
    state.pointee.free = Slab.freeSlot(memory).pointee.next
    unlock()
    return (slot, memory)
  }

  /// One that nobody has had yet. The gate is closed, and opened here; and while there is no memory yet, for the time
  /// of taking some.
  @inline(never)
  private func takeUnused() -> (slot: UInt32, memory: UnsafeMutableRawPointer)? {
    let state = self.state
    while true {
      let slot = state.pointee.used &+ 1
      if slot < Slab.capacity, let memory = memory(slot) {
        state.pointee.used = slot
        unlock()
        return (slot, memory)
      }
      unlock()
      guard slot < Slab.capacity, let chunk = treadle_system_zeroed(Int(Slab.slotsOfChunk) &* stride) else {
        return nil
      }
      lock()
      // Others may have been faster: then it is for later slots.
      var index = slot >> 12
      while index < UInt32(TREADLE_SYSTEM_CHUNKS), treadle_system_chunk(number, index) != nil { index &+= 1 }
      if index < UInt32(TREADLE_SYSTEM_CHUNKS) { treadle_system_set_chunk(number, index, chunk) }
    }
  }

  /// Gives a slot back after the life in it: whoever dropped the last reference calls this once.
  @inline(__always)
  package func free(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    let last = Slab.reference(memory).pointee.end()
    if !last.isLastGeneration { giveBackOwn(slot, memory) }
    if last.has(Reference.Mark.awaited) { Rest.announce() }
  }

  /// The thread that was at the end of a life has ended itself: the life is over, and its slot is not used again.
  /// Nothing is called here: the thread is being unwound.
  func abandonEnding(_ handle: Handle) {
    guard let memory = locate(handle) else { return }
    let reference = Slab.reference(memory)
    if !reference.pointee.seen.isGone || reference.pointee.generation != handle.generation { return }
    if reference.pointee.end().has(Reference.Mark.awaited) { treadle_system_rest_announce() }
  }

  /// Gives a slot back in which no life has begun, or in which one has ended.
  @inline(__always)
  package func giveBack(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    lock()
    Slab.freeSlot(memory).pointee.next = state.pointee.free
    state.pointee.free = slot
    unlock()
  }

  // MARK: The gate is closed

  @inline(__always)
  func lock() { state.pointee.gate.lock() }
  @inline(__always)
  func unlock() { state.pointee.gate.unlock() }

  /// Takes a batch; 0 where there is none.
  @inline(__always)
  func takeBatch() -> UInt32 {
    let batch = state.pointee.batches
    if batch != 0, let memory = memory(batch) { state.pointee.batches = Slab.freeSlot(memory).pointee.nextBatch }
    return batch
  }

  func addBatch(_ batch: UInt32) {
    guard let memory = memory(batch) else { return }
    Slab.freeSlot(memory).pointee.nextBatch = state.pointee.batches
    state.pointee.batches = batch
  }

  func addChain(from first: UInt32, to last: UInt32) {
    guard let memory = memory(last) else { return }
    Slab.freeSlot(memory).pointee.next = state.pointee.free
    state.pointee.free = first
  }

  /// Forgets every object, in the child of a fork: their memory is left as it is.
  func forgetAll() {
    var index: UInt32 = 0
    // Chunks are added in order. The rest of the table is not even looked at: it would cost the child memory and time.
    while index < UInt32(TREADLE_SYSTEM_CHUNKS), treadle_system_chunk(number, index) != nil {
      treadle_system_set_chunk(number, index, nil)
      index &+= 1
    }
  }
}
