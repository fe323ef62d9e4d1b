// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The one rule of life for all items: a mode holds a reference to each item in it, and whoever takes an item out drops that
/// reference, unless the loop is calling the item; then it is left to the loop, which drops it when the call is over.
///
/// Whether the loop calls it is told by a hazard pointer, `LoopState.calling`. The owner names an item there, then exchanges
/// a word that whoever takes the item out exchanges as well (the item's reference, or the loop's lock), and then looks
/// whether it is a member still. The other ends the membership or the validity, exchanges that word, and then looks at
/// `calling`. Exchanges of one word have an order, so the later of the two sees what the earlier did: either the owner does
/// not call, or the other leaves the reference.
///
/// To leave it is the same in reverse: `LoopState.left` is written, and after a fence `calling` is looked at again; the
/// owner names the next item, or none, and after an exchange looks at `left`.
///
/// Only the innermost run's call is named. Before a run inside of it begins, the item gets a counted reference (`Run.push`), if
/// it is the run's callout.
///
/// **While the owner calls the client for anything else, nothing is named.** That may close what was called last, or is to be
/// called next, and wait for its end: on this thread, or on one that this one waits for. So before a block, a job, the pool or
/// the sleep the last name goes (`nameNothing`), and with each drop of what was left. One that is only named yet is not kept
/// then: whoever has dropped anything names it again, and looks again (`dropLeft(naming:)`).
extension Loop {
  // MARK: Owner

  /// From here on the item is kept, if it is a member when that is looked at behind an exchange, as said above.
  @inline(__always)
  func name(_ item: Item) {
    assertOwner()
    state.calling.store(item.tag, ordering: .releasing)
  }

  /// Behind that exchange: drops what was left to the owner by a call before this one. True if there was anything: the
  /// client may have been called, and nothing is named any more.
  @inline(__always)
  @discardableResult
  func dropLeft() -> Bool {
    treadle_system_fence_after_exchange()
    // The fence orders it; what it says is looked at under the lock.
    return state.left.load(ordering: .relaxed) == 0 ? false : dropLeftNow()
  }

  /// Drops what was left, for one who has named an item and not looked yet whether it is a member: it is named when this
  /// returns. True if the client may have been called.
  @inline(__always)
  func dropLeft(naming item: Item) -> Bool { dropLeft() && dropMoreLeft(naming: item) }

  @inline(never)
  private func dropMoreLeft(naming item: Item) -> Bool {
    repeat {
      name(item)
      item.cell.reference.update()
    } while dropLeft()
    return true
  }

  /// A call has returned: what the caller itself, in it, or another thread meanwhile has left to him is not kept any longer.
  /// What is left after this look, by another thread, is found when the next item is named, or none.
  @inline(__always)
  func endNaming() -> Bool { state.left.load(ordering: .relaxed) != 0 && nameNothing() }

  /// Whether anything is left to the owner. The lock is held: unless it is, nothing will be that was named before.
  @inline(__always)
  var hasLeft: Bool { state.left.load(ordering: .relaxed) != 0 }

  /// Nothing is called any more. True if anything was dropped. A call that is over may stay named until the next item is, but
  /// not while anything else is called, or the loop sleeps: who closes the item would wait for that. The store is sequentially
  /// consistent for x86, where it is the fence (`treadle_system_fence_after_exchange`), as that of `leave`.
  @inline(__always)
  @discardableResult
  func nameNothing() -> Bool {
    if state.calling.load(ordering: .relaxed) == 0 { return false }
    state.calling.store(0, ordering: .sequentiallyConsistent)
    return dropLeft()
  }

  @inline(never)
  private func dropLeftNow() -> Bool {
    lock()
    let tag = state.left.load(ordering: .relaxed)
    // The item that is named now was taken out just now: it stays left.
    let isOver = tag != 0 && tag != state.calling.load(ordering: .relaxed)
    if isOver {
      state.left.store(0, ordering: .relaxed)
      // A thread that takes an item out looks at this under the lock.
      state.calling.store(0, ordering: .relaxed)
    }
    unlock()
    if isOver { Item(tag: tag)?.drop() }
    return isOver
  }

  // MARK: Any thread

  /// The kernel's id of the thread whose innermost run calls an item, or is about to; 0 for none.
  package static func idOfThread(calling item: Item) -> Int32 {
    var id: Int32 = 0
    Slab(.loop).forEachLive { _, memory in
      let loop = Loop(memory)
      if loop.isCalling(item) { id = loop.threadID }
      return id == 0
    }
    return id
  }

  /// `isCalling` for the owner.
  @inline(__always)
  func isCallingHere(_ item: Item) -> Bool { state.calling.load(ordering: .relaxed) == item.tag }

  /// Whether the owner calls an item, or is about to; asked behind the exchange. It acquires what the owner did with an item that
  /// is not called any more.
  @inline(__always)
  private func isCalling(_ item: Item) -> Bool {
    state.calling.load(ordering: .acquiring) == item.tag
  }

  /// Leaves the reference of a mode, out of which an item was taken, to the owner if he calls the item. What the caller has
  /// to drop when the lock is free: mostly the item. The lock is held.
  @inline(__always)
  func handOver(_ item: Item) -> Item? { isCalling(item) ? leave(item) : item }

  @inline(never)
  private func leave(_ item: Item) -> Item? {
    assertHeld()
    let before = state.left.load(ordering: .relaxed)
    // Another of the item's references was left already, which keeps it long enough.
    if before == item.tag { return item }
    state.left.store(item.tag, ordering: .sequentiallyConsistent)
    treadle_system_fence_after_exchange()
    if !isCurrent && !isCalling(item) {
      state.left.store(before, ordering: .relaxed)
      return item
    }
    // What was left before is of a call that is over, since the owner has named another item; he will find this one.
    return Item(tag: before)
  }
}
