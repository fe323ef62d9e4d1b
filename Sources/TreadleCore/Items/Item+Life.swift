// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Being made, counted and freed.
extension Item {
  /// A new item with one reference, the client's. `prepare` writes what its kind has besides.
  @inline(__always)
  static func create(
    _ kind: Kind, traits: UInt8, code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context?,
    _ prepare: (Item) -> Void
  ) throws(Failure) -> Item {
    try Runtime.start()
    Slab(.observer).checkRoom(for: ItemCell.self)
    Slab(.timer).checkRoom(for: TimerCell.self)
    guard let (slot, memory) = Slab(kind).takeOwn() else { throw Failure.noMemory("object") }
    let item = Item(kind, slot, memory)
    item.beginCell(traits)
    item.setCode(code)
    item.cell.info = info
    prepare(item)
    if let context, !item.attach(context) {
      item.giveSlotBack()
      throw Failure.noMemory("object")
    }
    if Watch.isTelling && kind != .port { item.cell.notes.store(Note.unused, ordering: .relaxed) }
    item.cell.reference.begin(forClient: true, marks: Reference.Mark.valid)
    return item
  }

  /// A cell that is in no chain and no mode.
  @inline(__always)
  func beginCell(_ traits: UInt8) {
    cell.previous = 0
    cell.next = 0
    cell.traits.store(traits, ordering: .relaxed)
    cell.state.store(0, ordering: .relaxed)
    cell.notes.store(0, ordering: .relaxed)
    cell.membership.store(0, ordering: .relaxed)
  }

  /// Gives the item, which has none, its context. False when there is no memory.
  private func attach(_ context: Context) -> Bool {
    let length = context.label.map { strlen($0) &+ 1 } ?? 0
    guard let memory = treadle_system_allocate(MemoryLayout<Context>.size &+ length) else { return false }
    let attached = memory.bindMemory(to: Context.self, capacity: 1)
    attached.initialize(to: context)
    attached.pointee.code = code
    if let label = context.label {
      memcpy(memory + MemoryLayout<Context>.size, label, length)
      attached.pointee.label = UnsafePointer((memory + MemoryLayout<Context>.size).assumingMemoryBound(to: CChar.self))
    }
    if let retain = context.retain { retainInfo(retain, with: attached) }
    setContext(attached)
    return true
  }

  /// What retain answers is what the callbacks receive (SRC0-2). If it ends the thread, the item does not come to be.
  private func retainInfo(_ retain: Context.Retain, with context: UnsafeMutablePointer<Context>) {
    let unmade = Unmade(item: self, context: context)
    let info = ObjectCall.recorded(0, holding: unmade, { $0.assumingMemoryBound(to: Unmade.self).pointee.giveBack() }) {
      ClientCall.guarded(retain, cell.info)
    }
    cell.info = UnsafeMutableRawPointer(bitPattern: info)
  }

  /// An item that nobody knows of yet. What its context refers to is its creator's.
  private struct Unmade {
    let item: Item
    let context: UnsafeMutablePointer<Context>

    func giveBack() {
      treadle_system_free(context)
      item.giveSlotBack()
    }
  }

  /// The context, made if the item had none. The item's lock is held.
  func needContext() -> UnsafeMutablePointer<Context>? {
    if let context { return context }
    return attach(Context()) ? context : nil
  }

  /// Drops one or more of our own references: of a mode, a callback, or a call that looked at the item.
  @inline(never)
  func drop(_ count: UInt64 = 1) {
    // A timer or observer that is invalid gives its info up when nothing of ours refers to it any more: no mode, and no
    // callback that goes on (TMR-7, OBS-8). Only what has a context has anything to give up.
    if context != nil, isOf(.timer) || isOf(.observer) {
      if let left = cell.reference.dropUnlessLast(count, without: Reference.Mark.valid) { return follow(left) }
      releaseInfo(beforeDropping: count)
    }
    if count == 1 && isPlain && cell.reference.endIfOnly() { return giveBackPlain() }
    follow(cell.reference.drop(count))
  }

  /// The client may end the thread in it: the references are dropped all the same.
  @inline(never)
  private func releaseInfo(beforeDropping count: UInt64) {
    ObjectCall.recorded(
      0, holding: Dropping(item: self, count: count), { $0.assumingMemoryBound(to: Dropping.self).pointee.drop() }
    ) { releaseInfo() }
  }

  /// References of ours that are dropped behind a release.
  private struct Dropping {
    let item: Item
    let count: UInt64

    func drop() { item.drop(count) }
  }

  /// The client's reference of the item that its handle means, if there is no other: with it the life ends, in one
  /// exchange. False with nothing changed.
  @inline(__always)
  func endWithClient(_ generation: UInt32) -> Bool {
    if !isPlain || !cell.reference.endIfOnlyClient(generation) { return false }
    giveBackPlain()
    return true
  }

  /// Nothing is to be done at its end, as it is now.
  @inline(__always)
  var isPlain: Bool { context == nil && !hasNote(Note.unused) }

  /// The end of one that was plain when that was looked at.
  @inline(__always)
  func giveBackPlain() {
    if context != nil { freeContext() }
    giveSlotBack()
  }

  /// The slot of a cell in which no life has begun, or in which one has ended.
  @inline(__always)
  private func giveSlotBack() { slab.giveBackOwn(slot, UnsafeMutableRawPointer(address)) }

  /// Of a plain item: another thread has held it for the length of a call between that look and the end, and it has
  /// needed a context for it.
  @inline(never)
  private func freeContext() {
    guard let context else { return }
    cell.link.store(0, ordering: .relaxed)
    context.pointee.aliases.free()
    treadle_system_free(context)
  }

  /// The reference of a mode, under whose loop's lock an item that is over has left, is dropped if it is the last one,
  /// and nobody is told. Otherwise the caller drops it without the lock. The own cell is free in either case.
  @inline(__always)
  func endUnderLock() -> Bool {
    if isPlain && cell.reference.endIfOnly(beside: Reference.Mark.claimed) {
      giveBackPlain()
      return true
    }
    cell.reference.clear(Reference.Mark.claimed)
    return false
  }

  /// What a drop has left.
  @inline(__always)
  func follow(_ left: Reference.Seen) {
    if left.isGone {
      destroy()
    } else if left.has(Reference.Mark.awaited) {
      Rest.announce()
    }
  }

  /// The last reference is gone: no mode has the item, nobody else can reach it (OBJ-4).
  @inline(__always)
  func destroy() {
    if context != nil || hasNote(Note.unused) { endAloud() }
    slab.free(slot, UnsafeMutableRawPointer(address))
  }

  /// A client has created it and released it, and it could never be called: a mistake, unless it was invalidated in
  /// between.
  @inline(never)
  private func tellUnused() {
    cell.notes.bitwiseAnd(~Note.unused, ordering: .relaxed)
    if Watch.isTelling && isValid { treadle_system_tell(nil, 0, tag, nil, 0) }
  }

  /// It is in a mode, or is called.
  @inline(__always)
  func noteUse() {
    if hasNote(Note.unused) { cell.notes.bitwiseAnd(~Note.unused, ordering: .relaxed) }
  }

  /// Each of the client's functions may end the thread: what follows it is done all the same, by the life's end.
  @inline(never)
  private func endAloud() {
    ObjectCall.recorded(
      handle.bits, holding: self, { $0.assumingMemoryBound(to: Item.self).pointee.destroy() }
    ) { callAtEnd() }
    freeContext()
  }

  /// Begins anew where a client's function has ended the thread, and does nothing twice.
  private func callAtEnd() {
    if hasNote(Note.unused) { tellUnused() }
    guard let context else { return }
    if let ending = context.pointee.ending, cell.reference.seen.has(Reference.Mark.valid) {
      context.pointee.ending = nil
      ending(context.pointee.main.object)
    }
    let wasValid = cell.reference.clear(Reference.Mark.valid).has(Reference.Mark.valid)
    if isOf(.port) {
      closeQueue()
      if wasValid { Item.tellInvalidPort(handle) }
    }
    releaseInfo()
    // With the last reference a routine calls its client.
    var dropped = context
    ObjectCall.during(handle.bits, &dropped) { memory in
      memory?.assumingMemoryBound(to: UnsafeMutablePointer<Context>.self).pointee.pointee.dropCallbacks()
    }
  }

  /// The one release of the info, or the retirement of the host's token. The caller refers to the item.
  @inline(__always)
  func releaseInfo() {
    if context != nil { releaseInfoOnce() }
  }

  @inline(never)
  private func releaseInfoOnce() {
    guard let context, context.pointee.release != nil || context.pointee.retire != nil else { return }
    // Decides which thread releases it. What came before is ordered by the caller's reference.
    if cell.notes.bitwiseOr(Note.released, ordering: .relaxed).oldValue & Note.released != 0 { return }
    var item = self
    ObjectCall.during(handle.bits, &item) { $0?.assumingMemoryBound(to: Item.self).pointee.callRelease() }
  }

  private func callRelease() {
    guard let context else { return }
    if let retire = context.pointee.retire { retire(context.pointee.host, context.pointee.token) }
    context.pointee.release?(cell.info)
  }

  /// Lets the client describe its info; false if it does not.
  package func describeInfo(_ buffer: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Bool {
    guard let describe = context?.pointee.describe, isValid || isOf(.source) || isOf(.descriptor) || isOf(.port) else {
      return false
    }
    buffer.pointee = 0
    // Not the `info` of clients, who have none of a timer that another thread has made invalid meanwhile.
    _ = ClientCall.guarded(describe, cell.info, buffer, UnsafeRawPointer(bitPattern: capacity))
    return true
  }
}
