// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The ports of a mode that have messages, in the order in which they are served. The loop's gate is held, where the
/// text does not say otherwise. A port that another loop has emptied may be among them still; the owner drops it when
/// he comes to it.
extension Mode {
  /// A guess without the gate, which orders everything: the owner looks under it before he sleeps, and for the port to
  /// serve.
  @inline(__always)
  var hasReadyPorts: Bool { state.readyPort.load(ordering: .relaxed) != 0 }

  @inline(__always)
  private var first: Item? { Item(.port, slot: state.readyPort.load(ordering: .relaxed)) }

  /// Puts a membership behind the others, unless it is there.
  @inline(__always)
  func linkReady(_ member: Item) {
    if member.ready.isReady { return }
    member.ready.isReady = true
    append(member)
  }

  @inline(__always)
  private func append(_ member: Item) {
    let last = state.lastReadyPort
    member.ready.readyBefore = last
    member.ready.readyAfter = 0
    if let before = member.sibling(last) {
      before.ready.readyAfter = member.slot
    } else {
      state.readyPort.store(member.slot, ordering: .relaxed)
    }
    state.lastReadyPort = member.slot
  }

  private func unlinkReady(_ member: Item) {
    if !member.ready.isReady { return }
    member.ready.isReady = false
    remove(member)
  }

  private func remove(_ member: Item) {
    let (before, after) = (member.ready.readyBefore, member.ready.readyAfter)
    // The ports' turn ends with the one before it.
    if lastOfTurn == member.slot { state.lastOfTurn.store(before, ordering: .relaxed) }
    if let previous = member.sibling(before) {
      previous.ready.readyAfter = after
    } else {
      state.readyPort.store(after, ordering: .relaxed)
    }
    if let next = member.sibling(after) { next.ready.readyBefore = before } else { state.lastReadyPort = before }
  }

  // MARK: Memberships, with the loop's lock held and the gate open

  /// A membership has begun. What is queued already makes it a ready one: looked at behind that beginning, as whoever
  /// has just queued the first message may have done already. A cell that is in no mode is no ready one.
  func joinPort(_ member: Item, of item: Item, _ loop: Loop) {
    loop.assertHeld()
    state.ports.append(member)
    loop.state.gate.lock()
    if item.hasMessages { linkReady(member) }
    loop.state.gate.unlock()
    item.pokeWaiters()
  }

  func leavePort(_ member: Item, of item: Item, _ loop: Loop) {
    loop.assertHeld()
    state.ports.remove(member)
    endPort(member, loop)
    item.pokeWaiters()
  }

  /// A membership ends, under the gate: who tells of a message sees that there, so that nothing which has left is a
  /// ready one. From then on the cell may be another loop's. A thread that sees the end without the gate looks at the
  /// notes of other memberships in order (`tellLoops`).
  func endPort(_ member: Item, _ loop: Loop) {
    loop.assertHeld()
    loop.state.gate.lock()
    unlinkReady(member)
    member.cell.membership.store(0, ordering: .relaxed)
    loop.state.gate.unlock()
  }

  // MARK: Serving, with the gate open; owner

  /// Whether a port has a message, after dropping those that have none any more.
  @inline(never)
  func demandReadyPort(_ loop: Loop) -> Bool {
    // Nobody but the owner takes the first one out because it is empty.
    if let member = first, member.primary.hasMessages { return true }
    loop.state.gate.lock()
    while let member = first, !member.primary.hasMessages { unlinkReady(member) }
    loop.state.gate.unlock()
    return hasReadyPorts
  }

  /// The ports' turn goes on, or begins: all that are ready then are served once before descriptors have theirs
  /// (PASS-12).
  @inline(__always)
  var isPortsTurn: Bool { lastOfTurn != 0 }
  @inline(__always)
  private var lastOfTurn: UInt32 { state.lastOfTurn.load(ordering: .relaxed) }

  /// The next ready port, which is called from here on (`Calling.swift`), with its membership, which goes behind the
  /// others.
  @inline(__always)
  func callReadyPort(_ loop: Loop) -> (item: Item, member: Item)? {
    loop.lock()
    defer { loop.unlock() }
    guard let member = nextReadyPort(loop) else { return nil }
    let item = member.primary
    loop.beginCalling(item)
    return (item, member)
  }

  /// What is ready is a member as long as the loop's lock is held.
  @inline(__always)
  private func nextReadyPort(_ loop: Loop) -> Item? {
    loop.assertHeld()
    loop.state.gate.lock()
    defer { loop.state.gate.unlock() }
    guard let member = first else { return nil }
    if !isPortsTurn { state.lastOfTurn.store(state.lastReadyPort, ordering: .relaxed) }
    let endsTurn = lastOfTurn == member.slot
    if state.lastReadyPort != member.slot {
      remove(member)
      append(member)
    }
    if endsTurn { state.lastOfTurn.store(0, ordering: .relaxed) }
    return member
  }

  /// The port has no message left, or is invalid: it is a ready one no more. Its cell may be another membership's by
  /// now, of which the same is asked.
  func withdrawPort(_ member: Item, _ loop: Loop) {
    loop.state.gate.lock()
    if member.isIn(self), member.ready.isReady {
      let item = member.primary
      if !item.hasMessages || !item.isValid { unlinkReady(member) }
    }
    loop.state.gate.unlock()
  }
}

/// Telling the loops that a port has messages.
extension Item {
  /// Behind the exchange that has made its first message visible. A handle's generation is named: the port is not held.
  @inline(__always)
  func tellLoops(_ handle: Handle) {
    let slot = membership
    // Whoever begins a membership sees the message.
    if slot == 0 && !hasNoteInOrder(Note.aliased) { return }
    if let mode = Mode(slot: slot), !mode.isRecord, let loop = mode.loop, !hasNoteInOrder(Note.scattered) {
      loop.state.gate.lock()
      if membership == slot && mode.isOf(loop) {
        mode.linkReady(self)
        let sleep = loop.markChanged()
        loop.state.gate.unlock()
        loop.endSleep(sleep)
        return
      }
      loop.state.gate.unlock()
    }
    tellAllLoops(handle)
  }

  @inline(never)
  private func tellAllLoops(_ handle: Handle) {
    guard cell.reference.hold(handle.generation) else { return }
    defer { drop() }
    lock()
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.isRecord, let loop = mode.loop {
        loop.state.gate.lock()
        var sleep = Sleep.awake
        if member.isIn(mode) && mode.isOf(loop) {
          mode.linkReady(member)
          sleep = loop.markChanged()
        }
        loop.state.gate.unlock()
        loop.endSleep(sleep)
      }
      next = following(member)
    }
    unlock()
  }

  /// The one loop that receives from the port, held; nil if there is none, or there are several. No lock is held.
  func onlyReceiver() -> Loop? {
    lock()
    defer { unlock() }
    var found: Loop?
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.isRecord, let loop = mode.loop {
        if let found, found.address != loop.address { return nil }
        found = loop
      }
      next = following(member)
    }
    // What is in one of its modes keeps it, while the lock is held.
    guard let found, found.isAlive, found.state.reference.hold(found.state.reference.generation) else { return nil }
    return found
  }
}
