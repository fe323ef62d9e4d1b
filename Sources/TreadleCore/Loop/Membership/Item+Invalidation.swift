// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// The end of an item's activity (OBJ-5): no callback starts any more on the loop's own thread, and every mode lets it
/// go. A timer or observer gives up its info when its callback is at rest (OBS-8), a source when it is freed (SRC0-4).
extension Item {
  /// The item that a client's handle means: marked as invalid, and held, in one exchange.
  @inline(__always)
  package static func invalidate(_ kind: Kind, _ handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    let item = try locate(kind, handle, subject)
    if item.endByOwner(handle.generation) { return }
    guard let before = item.cell.reference.hold(handle.generation, clearing: Item.marksOfValid) else {
      throw handle.failure(subject)
    }
    item.end(before)
  }

  /// Ends an item that the caller holds, or that nobody else knows.
  package func invalidate() {
    if let before = cell.reference.hold(generation, clearing: Item.marksOfValid) { end(before) }
  }

  private static var marksOfValid: UInt64 { Reference.Mark.valid | Reference.Mark.ofSignal }

  /// The end of an item by the thread of the only loop that has it, and is not calling it. The mode keeps it until
  /// then; it leaves, and in one exchange loses its marks and the mode's reference. False with nothing changed: also
  /// for one whose end calls the client.
  @inline(__always)
  private func endByOwner(_ generation: UInt32) -> Bool {
    guard let mode, let loop = mode.loop, loop.isCurrent else { return false }
    loop.lock()
    // Under the lock a member does not change its generation.
    if !isIn(mode) || !mode.isOf(loop) || !cell.reference.isLive(generation) || endsAloud || loop.isCalling(self) {
      loop.unlock()
      return false
    }
    loop.unlink(self, of: self, from: mode)
    let left = cell.reference.dropUnlessLast(clearing: Item.marksOfValid | Reference.Mark.claimed)
    if left == nil { cell.reference.clear(Item.marksOfValid | Reference.Mark.claimed) }
    loop.unlock()
    if let left { follow(left) } else { drop() }
    // Another thread was adding it to a second mode, and has not seen its end.
    if hasNote(Note.aliased) { endAliases(generation) }
    return true
  }

  @inline(never)
  private func endAliases(_ generation: UInt32) {
    if cell.reference.hold(generation) { leaveEverythingAndDrop() }
  }

  /// Whether its end, or that of one of its memberships, may call the client, or it may have more of them.
  @inline(__always)
  private var endsAloud: Bool {
    isOf(.port) || context.map { hasNote(Note.aliased) || $0.pointee.isToldOfEnd } ?? false
  }

  /// Takes an item that was marked as invalid, and held, out of its modes. The reference that holds it is dropped here.
  @inline(__always)
  private func end(_ before: Reference.Seen) {
    if isOf(.port) { return endPort(before) }
    if hasTrait(Trait.indirect), let context, let ending = context.pointee.ending {
      if before.has(Reference.Mark.valid) {
        leaveEverything()
        tellEnding(ending, context.pointee.main.object)
      }
      return drop()
    }
    if before.has(Reference.Mark.valid) && !hasNote(Note.aliased), let mode, let loop = mode.loop,
      let departure = loop.takeOut(self, of: self, from: mode)
    {
      departure.finish(dropping: 1)
    } else {
      leaveEverythingAndDrop()
    }
  }

  /// An item that was invalid before is in modes still if a cancel has ended the thread that took it out. Each of the
  /// item's own cancels may do that.
  @inline(never)
  private func leaveEverythingAndDrop() {
    ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Item.self).pointee.leaveEverythingAndDrop() }) {
      leaveEverything()
    }
    drop()
  }

  /// The end may call a client, which may end the thread: the reference that holds the item is dropped all the same.
  @inline(never)
  private func tellEnding(_ ending: IndirectCallback.Drop, _ object: UnsafeMutableRawPointer?) {
    ObjectCall.recorded(handle.bits, holding: self, { $0.assumingMemoryBound(to: Item.self).pointee.drop() }) {
      ending(object)
    }
  }

  /// PORT-2. Not held any more when that is told: a client who has no reference finds that it is gone.
  @inline(never)
  private func endPort(_ before: Reference.Seen) {
    let handle = self.handle
    let wasValid = before.has(Reference.Mark.valid)
    if wasValid {
      leaveEverything()
      closeQueue()
    }
    drop()
    if wasValid { Item.tellInvalidPort(handle) }
  }

  /// Leaves every mode of every loop, and is recorded nowhere any more; a cancel for each mode (SRC0-4).
  @inline(never)
  func leaveEverything() {
    while true {
      lock()
      guard let (member, mode) = anyMembership() else {
        unlock()
        return
      }
      let departure = mode.loop?.takeOut(member, of: self, from: mode)
      unlock()
      departure?.finish()
    }
  }

  /// Returns a reference that the client owns.
  @inline(__always)
  package static func release(_ kind: Kind, _ handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    let item = try locate(kind, handle, subject)
    if item.endWithClient(handle.generation) { return }
    guard let left = item.cell.reference.releaseForClient(handle.generation) else {
      if !item.cell.reference.isLive(handle.generation) { throw handle.failure(subject) }
      throw Failure(Status.stale, subject, "was released more often than retained")
    }
    item.followClient(left, handle.generation)
  }

  /// What the release of a client's reference has left.
  @inline(__always)
  private func followClient(_ left: Reference.Seen, _ generation: UInt32) {
    if left.isGone {
      destroy()
    } else if left.clients == 0 && hasState(State.idle) {
      endIdle(generation)
    }
  }

  /// Gives up the client's reference of an item whose handle nobody has.
  package func giveUp() {
    let generation = self.generation
    if let left = cell.reference.releaseForClient(generation) { followClient(left, generation) }
  }

  /// Ends an item whose handle nobody has, and gives up the client's reference. It may be in modes.
  package func discard() {
    invalidate()
    giveUp()
  }
}
