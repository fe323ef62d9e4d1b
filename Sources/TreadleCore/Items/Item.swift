// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import struct Synchronization.Atomic
package import TreadleBase

/// A source, descriptor source, port, timer or observer: a thin handle, copied freely.
///
/// An item is in a mode through a *membership*. Its first one is part of its own cell; each further one is an *alias*,
/// a cell of the same slab that leads back to the primary. So a mode's lists and queues hold cells, in constant time
/// and without allocation for the usual single membership.
package struct Item {
  /// What the low half of its handle says: slot, kind, and 1. It also names the item in `LoopState.called`.
  package let tag: UInt32
  let address: UnsafeMutablePointer<ItemCell>
  /// What the handle leads to.
  @inline(__always)
  var cell: ItemCell {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  @inline(__always)
  init(tag: UInt32, _ memory: UnsafeMutableRawPointer) {
    self.tag = tag
    address = memory.assumingMemoryBound(to: ItemCell.self)
  }
  @inline(__always)
  init(_ kind: Kind, _ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    self.init(tag: Handle.tag(kind, slot), memory)
  }

  /// The cell of a slot that was allocated once; nil for slot 0, which means none.
  @inline(__always)
  package init?(tag: UInt32) {
    guard Handle.slot(ofTag: tag) != 0,
      let memory = Slab(number: Handle.kindNumber(ofTag: tag)).memory(Handle.slot(ofTag: tag))
    else { return nil }
    self.init(tag: tag, memory)
  }
  @inline(__always)
  package init?(_ kind: Kind, slot: UInt32) { self.init(tag: Handle.tag(kind, slot)) }

  @inline(__always)
  package var slot: UInt32 { Handle.slot(ofTag: tag) }
  @inline(__always)
  func isOf(_ kind: Kind) -> Bool { Handle.kindNumber(ofTag: tag) == kind.rawValue }
  /// Every item has one of the five; the last stands for what is none of the others.
  @inline(__always)
  package var kind: Kind {
    isOf(.source) ? .source : isOf(.timer) ? .timer : isOf(.descriptor) ? .descriptor : isOf(.port) ? .port : .observer
  }
  @inline(__always)
  var slab: Slab { Slab(number: Handle.kindNumber(ofTag: tag)) }

  // MARK: Handles

  /// The item that a client's handle means, held until `letGo`.
  @inline(__always)
  package static func hold(_ kind: Kind, _ handle: UInt, _ subject: StaticString) throws(Failure) -> Item {
    Item(tag: Handle(bits: handle).tag, try Slab(kind).hold(handle, subject))
  }
  @inline(__always)
  package func letGo() { drop() }
  /// For one who keeps it alive already.
  @inline(__always)
  package func holdAgain() { cell.reference.holdAgain() }

  /// What lies, or lay, in the slot that a client's handle names: whoever changes it names the handle's generation.
  @inline(__always)
  static func locate(_ kind: Kind, _ handle: Handle, _ subject: StaticString) throws(Failure) -> Item {
    guard let item = locate(kind, handle) else { throw handle.failure(subject) }
    return item
  }
  @inline(__always)
  static func locate(_ kind: Kind, _ handle: Handle) -> Item? {
    Slab(kind).locate(handle).map { Item(tag: handle.tag, $0) }
  }

  /// Whether the item that a client's handle means is valid.
  package static func isValid(_ kind: Kind, _ handle: UInt, _ subject: StaticString) throws(Failure) -> Bool {
    let handle = Handle(bits: handle)
    let seen = try locate(kind, handle, subject).cell.reference.seen
    if seen.isGone || seen.generation != handle.generation { throw handle.failure(subject) }
    return seen.has(Reference.Mark.valid)
  }

  @inline(__always)
  var generation: UInt32 { cell.reference.generation }
  @inline(__always)
  package var handle: Handle { Handle(tag: tag, generation: generation) }
  @inline(__always)
  var handlePointer: OpaquePointer? { OpaquePointer(bitPattern: handle.bits) }

  // MARK: What it is

  package var isValid: Bool { cell.reference.seen.has(Reference.Mark.valid) }
  @inline(__always)
  func hasTrait(_ trait: UInt8) -> Bool { cell.traits.load(ordering: .relaxed) & trait != 0 }
  /// A thread that finds the item aliased looks at the aliases under the item's lock, or its loop's.
  @inline(__always)
  func hasNote(_ note: UInt8) -> Bool { cell.notes.load(ordering: .relaxed) & note != 0 }
  /// For a thread that has made a port's first message visible and looks for its modes: it sees the note, or a thread
  /// that adds the port to a mode sees the message.
  @inline(__always)
  func hasNoteInOrder(_ note: UInt8) -> Bool { cell.notes.load(ordering: .sequentiallyConsistent) & note != 0 }
  @inline(__always)
  func hasState(_ state: UInt8) -> Bool { cell.state.load(ordering: .acquiring) & state != 0 }
  /// Guarded as `ItemCell.state` is.
  @inline(__always)
  func setState(_ set: UInt8, clear: UInt8 = 0) {
    cell.state.store(cell.state.load(ordering: .relaxed) & ~clear | set, ordering: .releasing)
  }

  package var repeats: Bool { !hasTrait(Trait.once) }
  package var order: Int64 { context?.pointee.order ?? 0 }
  /// Lives as long as the item.
  package var label: UnsafePointer<CChar>? { context?.pointee.label }
  package var info: UnsafeMutableRawPointer? {
    // A timer or observer gives its info up when it becomes invalid (TMR-7).
    (isOf(.timer) || isOf(.observer)) && !isValid ? nil : cell.info
  }

  // MARK: Its callback and context

  /// No address in a program has this bit. The function's is marked, since leak checkers must recognise the memory's.
  @inline(__always)
  private static var codeMark: UInt { 1 << 63 }
  @inline(__always)
  var link: UInt { cell.link.load(ordering: .acquiring) }

  @inline(__always)
  func setCode(_ code: UnsafeMutableRawPointer?) {
    cell.link.store(UInt(bitPattern: code) | Item.codeMark, ordering: .relaxed)
  }
  func setContext(_ context: UnsafeMutablePointer<Context>) {
    cell.link.store(UInt(bitPattern: context), ordering: .releasing)
  }

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

  /// The callback that takes the place of a plain one; nil for none.
  package var indirect: IndirectCallback? { hasTrait(Trait.indirect) ? context?.pointee.main : nil }

  // MARK: Its memberships

  /// The slot of the mode of this membership; 0 for none.
  /// Of a port its beginning and this look are sequentially consistent, as the count of its messages is: a thread that
  /// has queued the first message looks here (`tellLoops`), and one that adds the port looks at the count.
  @inline(__always)
  var membership: UInt32 { cell.membership.load(ordering: .sequentiallyConsistent) }

  /// Under the loop lock. The own cell is claimed.
  @inline(__always)
  func beginMembership(inMode slot: UInt32) {
    cell.joins.store(cell.joins.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    if isOf(.port) {
      cell.membership.store(slot, ordering: .sequentiallyConsistent)
    } else {
      cell.membership.store(slot, ordering: .releasing)
    }
  }

  /// Another cell of the same kind.
  @inline(__always)
  func sibling(_ slot: UInt32) -> Item? { Item(tag: Handle.tag(like: tag, slot)) }

  /// The item whose membership a cell is.
  @inline(__always)
  package var primary: Item {
    if !hasTrait(Trait.alias) { return self }
    return sibling(UInt32(truncatingIfNeeded: link)) ?? self
  }
  var nextAlias: UInt32 { UInt32(truncatingIfNeeded: link >> 32) }
  func setLink(primary: UInt32, next: UInt32) {
    // Before the alias begins its life and its membership, by which it is found; later only the next alias changes,
    // under the lock.
    cell.link.store(UInt(primary) | UInt(next) << 32, ordering: .relaxed)
  }
  var previousAlias: UInt32 {
    get { UInt32(truncatingIfNeeded: UInt(bitPattern: cell.info)) }
    nonmutating set { cell.info = UnsafeMutableRawPointer(bitPattern: UInt(newValue)) }
  }

  // MARK: What one kind has besides

  /// The memory of an item of this kind, which begins with the cell.
  @inline(__always)
  func slotMemory<Slot: ~Copyable>(_ kind: Kind, as type: Slot.Type) -> UnsafeMutablePointer<Slot> {
    assert(isOf(kind))
    Slab(kind).checkRoom(for: Slot.self)
    return UnsafeMutableRawPointer(address).assumingMemoryBound(to: Slot.self)
  }
  @inline(__always)
  var source: SourceCell {
    unsafeAddress { UnsafePointer(slotMemory(.source, as: SourceCell.self)) }
    nonmutating unsafeMutableAddress { slotMemory(.source, as: SourceCell.self) }
  }
  @inline(__always)
  var watched: DescriptorCell.Watched {
    unsafeAddress { UnsafePointer(watchedAddress) }
    nonmutating unsafeMutableAddress { watchedAddress }
  }
  @inline(__always)
  private var watchedAddress: UnsafeMutablePointer<DescriptorCell.Watched> {
    withUnsafeMutablePointer(to: &slotMemory(.descriptor, as: DescriptorCell.self).pointee.watched) { $0 }
  }
  @inline(__always)
  var timer: TimerMember {
    assert(isOf(.timer))
    return TimerMember(slot: slot, address: address)
  }
  @inline(__always)
  var due: TimerCell.Due {
    unsafeAddress { UnsafePointer(timer.dueAddress) }
    nonmutating unsafeMutableAddress { timer.dueAddress }
  }

  /// Asks for the cell's cache line, to be written: one transfer, where reading first would make it two.
  @inline(__always)
  func prefetchForWriting() { treadle_system_prefetch_for_writing(UnsafeMutableRawPointer(address)) }
}

/// The locks of items' memberships. An item may be in several loops, so the lock of one is not enough to begin a
/// membership; and items have no room for a lock each, so some share one.
extension Item {
  @inline(__always)
  private var mutex: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_item_lock(slot)) }

  @inline(__always)
  package func lock() { mutex.pointee.lock(.item) }
  @inline(__always)
  package func unlock() { mutex.pointee.unlock(.item) }
}
