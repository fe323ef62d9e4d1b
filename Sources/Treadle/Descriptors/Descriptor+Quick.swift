// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The quick ways of descriptor sources, for what almost all are: in the default mode of the calling thread's own loop,
/// with nothing but a plain callback. Each does the whole of a client's call under one lock. It either does it, or does
/// nothing and says so: then the general way does it, and finds what is wrong with the arguments. They are a part of the
/// exported functions, which then have nothing to save for another call.
extension Item {
  /// A source that watches a descriptor there; its handle goes to `out`, if there is one, and otherwise the mode has the
  /// only reference. Nobody has to ask before whether the descriptor is open: the kernel says so when it is to watch it.
  @inline(__always)
  package static func watchQuickly(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, number: Int32, events: UInt32,
    out: UnsafeMutablePointer<OpaquePointer?>?
  ) -> Bool {
    guard let loop = Loop.existing, loop.isAlive, let mode = loop.defaultMode, let poller = mode.poller else {
      return false
    }
    let lock = loop.mutex
    lock.lockInline()
    defer { lock.unlockInline() }
    guard poller.isFree(number, wake: loop.state.pointee.wakeDescriptor.load(ordering: .relaxed)),
      let item = Item(.descriptor, slot: Slab(.descriptor).allocateInline(own: 1, clients: out == nil ? 0 : 1))
    else { return false }
    item.begin(code: code, info: info)
    item.descriptor.pointee = DescriptorCell(number: number, events: UInt16(truncatingIfNeeded: events), strikes: 0)
    let membership = item.nextMembership(in: mode.slot)
    if !poller.enter(item, number, events, mention: Mention(item, as: membership).bits) {
      Slab(.descriptor).free(item.slot)
      return false
    }
    item.cell.pointee.mode.store(membership, ordering: .releasing)
    mode.state.pointee.descriptors.append(item)
    mode.countContent(1)
    item.cell.pointee.flags.store(Flag.valid, ordering: .releasing)
    out?.pointee = item.handlePointer
    return true
  }

  /// Ends a source that is there and in no other mode, and drops a reference of the client's, with nobody else to refer
  /// to it: so its callback does not run, and nobody has its lock. Whoever may change its flags or its context, or adds it
  /// to a mode, refers to it meanwhile, and what is in a mode is so until somebody takes that loop's lock.
  @inline(__always)
  package static func discardQuickly(descriptor: UInt) -> Bool {
    let handle = Handle(bits: descriptor)
    guard let memory = Slab(.descriptor).locate(handle), let loop = Loop.existing, let mode = loop.defaultMode,
      let poller = mode.poller
    else { return false }
    let item = Item(.descriptor, handle.slot, memory)
    if !item.isIn(mode) { return false }
    let lock = loop.mutex
    lock.lockInline()
    defer { lock.unlockInline() }
    guard item.isIn(mode), item.flags & ~Flag.acknowledged == Flag.valid, item.context == nil,
      item.cell.pointee.reference.endLast(generation: handle.generation)
    else { return false }
    // It is nobody's from here on: reports about it are stale, and who has found it before finds another generation.
    poller.remove(item, isOver: true)
    mode.state.pointee.descriptors.remove(item)
    mode.countContent(-1)
    item.cell.pointee.mode.store(item.nextMembership(in: 0), ordering: .releasing)
    item.cell.pointee.flags.store(0, ordering: .relaxed)
    Slab(.descriptor).giveBack(item.slot, memory)
    return true
  }
}
