// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// The memory of a source, descriptor source, timer or observer, and of each membership beyond an item's
/// first. A timer's and a descriptor's slots go on behind it.
struct ItemCell: ~Copyable {
  let reference: Reference
  /// `Item.Flag` bits.
  let flags: Atomic<UInt32>
  /// The mode that this membership is in: its slot, and in the top byte a serial that each change of
  /// membership raises, so that queued mentions of an earlier one are stale. Written under the lock and
  /// the gate of the mode's loop; read anywhere.
  let mode: Atomic<UInt32>
  /// Neighbours in the mode's list, or in the timer wheel's slot. Guarded by the lock of the mode's loop.
  var previous: UInt32
  var next: UInt32
  /// The plain C callback with `Item.codeMark`; or the item's `Context`, which has the callback then: set once, from
  /// the one to the other. In an alias instead the slots of its primary (low half) and of the next alias: the owner
  /// of a loop reads all of them without a lock.
  let link: Atomic<UInt>
  /// The client's info. Constant once the item is published.
  var info: UnsafeMutableRawPointer?
}

/// A source, descriptor source, timer or observer.
///
/// An item is in a mode through a *membership*. Its first one is part of its own cell; each further one
/// is an *alias*, a cell of the same slab that leads back to the primary. So a mode's lists and queues
/// hold cells, in constant time and without allocation for the usual single membership.
package struct Item {
  let kind: Kind
  let slot: UInt32
  let cell: UnsafeMutablePointer<ItemCell>

  @inline(__always)
  init(_ kind: Kind, _ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    self.kind = kind
    self.slot = slot
    cell = memory.assumingMemoryBound(to: ItemCell.self)
  }

  /// The cell of a slot that is known to have been allocated.
  @inline(__always)
  init?(_ kind: Kind, slot: UInt32) {
    guard slot != 0, let memory = Slab(kind).memory(slot) else { return nil }
    self.init(kind, slot, memory)
  }

  /// The item that a client's handle means.
  @inline(__always)
  package init(_ kind: Kind, _ handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    guard let memory = Slab(kind).find(handle) else { throw handle.failure(subject) }
    self.init(kind, handle.slot, memory)
    if hasFlag(Flag.alias) { throw Failure(Status.stale, subject, "is not the handle of a living object") }
  }

  /// The same, held until `letGo`, for calls that look at more than the item's own slot.
  @inline(never)
  package static func hold(_ kind: Kind, _ handle: UInt, _ subject: StaticString) throws(Failure) -> Item {
    let item = try Item(kind, handle, subject)
    guard item.cell.pointee.reference.retain(generation: Handle(bits: handle).generation) else {
      throw Handle(bits: handle).failure(subject)
    }
    return item
  }
  @inline(never)
  package func letGo() { drop() }

  enum Flag {
    static let valid: UInt32 = 1
    static let signalled: UInt32 = 2
    /// The cell is a further membership of another item.
    static let alias: UInt32 = 4
    /// The item has, or had, aliases.
    static let aliased: UInt32 = 8
    /// One of them is, or was, in a mode, and not the record of common items.
    static let scattered: UInt32 = 0x1_0000
    /// The order is not 0.
    static let ordered: UInt32 = 0x10
    /// A timer's callback runs; an observer's, with another run inside of it.
    static let running: UInt32 = 0x20
    /// An observer that is called once, or a timer that fires once.
    static let once: UInt32 = 0x40
    /// A one-shot observer has been called.
    static let spent: UInt32 = 0x80
    /// The timer's date was set while its callback ran.
    static let rescheduled: UInt32 = 0x100
    /// The callback is the context's `main`, not `code`.
    static let indirect: UInt32 = 0x200
    /// The info of a timer or observer is to be released, by whoever finds the callback at rest.
    static let releasing: UInt32 = 0x400
    /// The info of an invalid observer was released.
    static let released: UInt32 = 0x10_0000
    /// Somebody waits for the callbacks' end (`close`).
    static let awaited: UInt32 = 0x800
    /// The timer has a tolerance.
    static let tolerant: UInt32 = 0x1000
    /// Guards the memberships of the item.
    static let locked: UInt32 = 0x2000
    /// The source has an `equal` callback.
    static let comparable: UInt32 = 0x4000
    /// Whoever signalled also wanted the loop woken: whoever queues the source does it.
    static let wakeWanted: UInt32 = 0x4_0000
    /// The source was signalled again before it was performed.
    static let repeated: UInt32 = 0x8_0000
    /// The source is flooded: a signal more needs no more than a look (`Flooding.swift`). Set under the gate.
    static let flooded: UInt32 = 0x40_0000
    /// Seen by the clean-up of a queue that is going on.
    static let counted: UInt32 = 0x2_0000
    /// The runtime reads the descriptor's counter.
    static let acknowledged: UInt32 = 0x8000
    /// The source's signal is its loop's owner's alone (`OwnedSignal.swift`).
    static let owned: UInt32 = 0x20_0000
    /// What is used up with the signal.
    static let ofSignal = signalled | wakeWanted | repeated | flooded
  }

  @inline(__always)
  var flags: UInt32 { cell.pointee.flags.load(ordering: .acquiring) }
  @inline(__always)
  func hasFlag(_ flag: UInt32) -> Bool { flags & flag != 0 }
  /// Sets a flag; the flags before.
  @inline(__always)
  @discardableResult
  func setFlag(_ flag: UInt32) -> UInt32 {
    cell.pointee.flags.bitwiseOr(flag, ordering: .sequentiallyConsistent).oldValue
  }
  /// Clears a flag; the flags before.
  @inline(__always)
  @discardableResult
  func clearFlag(_ flag: UInt32) -> UInt32 {
    cell.pointee.flags.bitwiseAnd(~flag, ordering: .sequentiallyConsistent).oldValue
  }

  /// Replaces the flags, if they are as expected. It is an exchange also where they stay the same (see
  /// `Loop.isWakePending`): what the caller wrote before is seen by whoever exchanges them next.
  @inline(__always)
  func exchangeFlags(_ expected: UInt32, _ desired: UInt32) -> Bool {
    cell.pointee.flags.compareExchange(
      expected: expected, desired: desired, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// Uses up the signal of a source that is valid and has one: the flags before; otherwise 0.
  @inline(__always)
  func useSignal() -> UInt32 {
    let due = Flag.valid | Flag.signalled
    var old = cell.pointee.flags.load(ordering: .relaxed)
    while old & due == due {
      let (isExchanged, original) = cell.pointee.flags.weakCompareExchange(
        expected: old, desired: old & ~Flag.ofSignal,
        ordering: .sequentiallyConsistent)
      if isExchanged { return old }
      old = original
    }
    return 0
  }

  /// Asks for the cell's cache line, to be written: one transfer, where reading first would make it two.
  @inline(__always)
  func prefetchForWriting() { treadle_system_prefetch_for_writing(UnsafeMutableRawPointer(cell)) }

  package var isValid: Bool { hasFlag(Flag.valid) }

  @inline(__always)
  var generation: UInt32 { cell.pointee.reference.generation }
  @inline(__always)
  package var handle: Handle { Handle(kind: kind, slot: slot, generation: generation) }
  @inline(__always)
  var handlePointer: OpaquePointer? { OpaquePointer(bitPattern: handle.bits) }

  /// No address in a program has this bit. The function's is marked, since leak checkers must recognise the memory's.
  @inline(__always)
  static var codeMark: UInt { 1 << 63 }

  /// What the client gave besides the callback; nil if nothing.
  @inline(__always)
  var context: UnsafeMutablePointer<Context>? {
    let link = self.link
    return link & Item.codeMark == 0 ? UnsafeMutablePointer(bitPattern: link) : nil
  }

  /// The plain C callback. The same for the item's whole life, wherever it is kept.
  @inline(__always)
  var code: UnsafeMutableRawPointer? {
    let link = self.link
    if link & Item.codeMark != 0 { return UnsafeMutableRawPointer(bitPattern: link & ~Item.codeMark) }
    return UnsafeMutablePointer<Context>(bitPattern: link)?.pointee.code
  }

  /// The same, but nil if there is anything to be looked at before it is called.
  @inline(__always)
  var plainCode: UnsafeMutableRawPointer? {
    let link = self.link
    return link & Item.codeMark == 0 ? nil : UnsafeMutableRawPointer(bitPattern: link & ~Item.codeMark)
  }

  package var order: Int64 { context?.pointee.order ?? 0 }
  package var info: UnsafeMutableRawPointer? {
    // A timer or observer gives its info up when it becomes invalid (TMR-7).
    (kind == .timer || kind == .observer) && !isValid ? nil : cell.pointee.info
  }

  /// The item whose membership a cell is.
  @inline(__always)
  var primary: Item {
    if !hasFlag(Flag.alias) { return self }
    return Item(kind, slot: UInt32(truncatingIfNeeded: link)) ?? self
  }
  var nextAlias: UInt32 { UInt32(truncatingIfNeeded: link >> 32) }
  @inline(__always)
  private var link: UInt { cell.pointee.link.load(ordering: .acquiring) }

  /// Guards the item's memberships. Taken before the lock of any loop.
  func lock() {
    while setFlag(Flag.locked) & Flag.locked != 0 { treadle_system_yield() }
  }
  func unlock() { clearFlag(Flag.locked) }

  /// The mode of this membership, or nil.
  @inline(__always)
  var mode: Mode? { Mode(slot: cell.pointee.mode.load(ordering: .acquiring) & Mention.slotMask) }
  /// Whether this membership is in the mode.
  @inline(__always)
  func isIn(_ mode: Mode) -> Bool { cell.pointee.mode.load(ordering: .acquiring) & Mention.slotMask == mode.slot }
}
