// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The end of an item's activity (OBJ-5): no callback starts any more on the loop's own thread, and every mode lets it go. A
/// timer or observer gives up its info when its callback is at rest (OBS-8), a source when it is freed (SRC0-4).
extension Item {
  /// The caller holds the item.
  package func invalidate() {
    let before = cell.pointee.reference.clear(Reference.Mark.valid | Reference.Mark.ofSignal)
    if before.has(Reference.Mark.valid) { leaveEverything() }
  }

  /// Gives up the client's reference of an item whose handle nobody has.
  package func giveUp() {
    if cell.pointee.reference.releaseForClient(generation)?.isGone == true { destroy() }
  }

  /// The end of such an item, which is in modes perhaps.
  package func discard() {
    holdAgain()
    invalidate()
    drop()
    giveUp()
  }

  /// Leaves every mode of every loop, and is recorded nowhere any more; a cancel for each mode (SRC0-4).
  func leaveEverything() {
    if !hasNote(Note.aliased) {
      guard let mode, let loop = mode.loop else { return }
      if let departure = loop.takeOutInvalid(self, of: self, from: mode) { return departure.finish() }
      // It has left meanwhile, and may be about to get another membership: then that looks whether it is valid.
    }
    while true {
      lock()
      guard let (member, mode) = anyMembership() else {
        unlock()
        return
      }
      let departure = mode.loop?.takeOutInvalid(member, of: self, from: mode)
      unlock()
      departure?.finish()
    }
  }
}

extension Loop {
  /// `takeOut` for an item that was made invalid, by an exchange of its reference: the owner, who looks at that after one of
  /// his own, calls it no more (`Calling.swift`).
  @inline(__always)
  fileprivate func takeOutInvalid(_ member: Item, of item: Item, from mode: Mode) -> Departure? {
    lock()
    defer { unlock() }
    guard member.isIn(mode), mode.isOf(self) else { return nil }
    unlink(member, of: item, from: mode)
    return depart(item, from: mode)
  }
}
