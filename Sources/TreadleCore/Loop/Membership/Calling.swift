// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The one rule of life for all items: a mode holds a reference to each item in it, and the thread that takes an item
/// out drops that reference, unless the loop is calling the item; then it is left to the loop, which drops it when the
/// call is over.
///
/// Both are decided under the loop's lock: the owner begins a call where it finds that the item is a member, and the
/// thread that takes the item out looks whether it is called. Only the innermost run's call is known here. Before a run
/// inside of it begins, the item gets a counted reference (`holdCalled`).
extension Loop {
  // MARK: The lock is held

  /// The owner calls an item that is a member from here on.
  @inline(__always)
  func beginCalling(_ item: Item) {
    assertOwner()
    assertHeld()
    assert(state.called == 0, "one call ends before the next begins")
    state.called = item.tag
    state.calling.store(item.tag, ordering: .relaxed)
  }

  /// The call is over. True if a mode's reference was left, which is the owner's to drop when the lock is free.
  @inline(__always)
  func endCalling() -> Bool {
    assertOwner()
    assertHeld()
    let isLeft = state.calledIsLeft
    state.called = 0
    state.calledIsLeft = false
    state.calling.store(0, ordering: .relaxed)
    return isLeft
  }

  @inline(__always)
  func isCalling(_ item: Item) -> Bool {
    assertHeld()
    return state.called == item.tag
  }

  /// Leaves the reference of a mode, out of which an item was taken, to the owner, if it calls the item and has got
  /// none yet: any one keeps the item. False: the reference is the caller's to drop when the lock is free.
  @inline(__always)
  func leaveToCall(_ item: Item) -> Bool {
    if !isCalling(item) || state.calledIsLeft { return false }
    state.calledIsLeft = true
    return true
  }

  // MARK: Any thread

  /// The kernel's id of the thread whose innermost run calls an item; 0 for none. For reports.
  package static func idOfThread(calling item: Item) -> Int32 {
    var id: Int32 = 0
    Slab(.loop).forEachLive { _, memory in
      let loop = Loop(memory)
      if loop.state.calling.load(ordering: .relaxed) == item.tag { id = loop.threadID }
      return id == 0
    }
    return id
  }
}
