// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// The membership of an item's own cell.
///
/// A thread *claims* the cell before a membership begins, by a mark of the item's word (`Reference.claim`), and clears
/// the mark behind its end. So of two threads that add an item to two loops one has the cell. An item that is in no
/// mode and has no aliases joins its first mode by that alone (`joinFirst`). A thread that has the item's lock and must
/// keep that off claims the cell itself. One that finds the cell claimed, but in no mode, waits (`settledMode`):
/// another thread is between two instructions, under a loop's lock.
extension Loop {
  /// Adds the item that a client's handle means to the default mode, if it is in no mode, and adding it calls no
  /// client: then it is not held before. False with nothing changed.
  @inline(__always)
  package func addFirst(_ kind: Kind, _ handle: UInt, _ name: ModeName) throws(Failure) -> Bool {
    let handle = Handle(bits: handle)
    guard let mode = defaultMode(name), let item = Item.locate(kind, handle) else { return false }
    if !item.mayJoinFirst || item.mayCallToJoin { return false }
    if try !joinFirst(item, handle.generation, mode, .ours, descriptor: nil) { return false }
    if isWaitedFor { lookAtNew(item.kind, mode) }
    return true
  }

  /// Adds an item that nobody else knows of yet to the default mode of the calling thread's loop: its client's
  /// reference is the mode's where nobody wants it. False, with nothing changed, as the thread ends.
  @inline(__always)
  package func addToDefaultMode(new item: Item, besidesClient: Bool = true) throws(Failure) -> Bool {
    guard isAlive, let mode = defaultMode else { return false }
    let kind = item.kind
    if try !joinFirst(item, item.generation, mode, besidesClient ? .ours : .oursForClients, descriptor: nil) {
      return false
    }
    if hasPollables { lookAtNew(kind, mode) }
    return true
  }

  /// Has an item that is in no mode join one by its own cell, without the item's lock: one exchange claims the cell,
  /// and makes the mode's reference. False, with nothing changed, for an item that is not the one meant, that is
  /// invalid, in a mode or has aliases, or that would call its client. `descriptor`: of one that calls no client, nil.
  @inline(__always)
  func joinFirst(
    _ item: Item, _ generation: UInt32, _ mode: Mode, _ claim: Reference.Claim, descriptor: Int32?
  ) throws(Failure) -> Bool {
    lock()
    if !isAlive || !item.cell.reference.claim(generation, needs: Reference.Mark.valid, claim) {
      unlock()
      return false
    }
    assert(LockOrder.enter(.claim), "a claim is waited for, so its thread waits for a gate at most")
    var failure: Failure?
    // Looked at behind the claim, which keeps both as they are.
    if !item.hasNote(Item.Note.aliased) && !(descriptor == nil && item.mayCallToJoin) {
      item.beginMembership(inMode: mode.slot)
      assert(LockOrder.leave(.claim), "the own cell was claimed")
      do throws(Failure) {
        try link(
          item, of: item, into: mode, descriptor: descriptor ?? (item.isOf(.descriptor) ? item.watched.number : -1))
        mode.state.isUnlisted = false
        unlock()
        return true
      } catch {
        failure = error
      }
    }
    takeBack(item, of: item, from: mode)
    assert(LockOrder.leave(.claim) || failure != nil, "the claim was for nothing, or its membership began")
    unlock()
    switch claim {
    case .nothing: break
    case .ours: item.drop()
    case .oursForClients: item.cell.reference.returnToClient()
    }
    if let failure { throw failure }
    return false
  }
}

/// The item's lock is held, where the text does not say otherwise.
extension Item {
  /// Whether the item is perhaps in no mode, and has no aliases. No lock.
  @inline(__always)
  var mayJoinFirst: Bool { membership == 0 && !hasNote(Note.aliased) }
  /// Whether a client may be asked or told as the item joins a mode. No lock.
  @inline(__always)
  var mayCallToJoin: Bool { (isOf(.source) || isOf(.descriptor)) && context != nil }

  /// The mode of the own cell's membership; one that is just beginning or ending has done so.
  var settledMode: Mode? {
    assert(LockOrder.admits(.claim), "a claim is waited for before any gate, and outside of another claim")
    var patience = Patience(inOrder: true)
    while true {
      if let mode { return mode }
      if !cell.reference.seen.has(Reference.Mark.claimed) { return nil }
      patience.wait()
    }
  }

  /// Claims the own cell. False if it is in a mode.
  func claimCell() -> Bool {
    while settledMode == nil {
      if cell.reference.claim(generation, needs: 0, .nothing) {
        assert(LockOrder.enter(.claim), "a claim is waited for, so its thread waits for a gate at most")
        return true
      }
    }
    return false
  }

  /// The end of a claim that is not a membership's any more, or never was.
  func unclaimCell() {
    assert(LockOrder.leave(.claim), "who gives up a claim has it")
    cell.reference.clear(Reference.Mark.claimed)
  }

  /// Whether the own cell has joined a mode, without the item's lock, that keeps an alias from joining this one. Its
  /// loop's lock is held, and the alias was made before the last exchange of the item's word.
  func hasJoinedFirst(_ mode: Mode, _ loop: Loop) -> Bool {
    guard let own = settledMode else { return false }
    if !mode.isRecord { own.state.hasScattered.store(true, ordering: .relaxed) }
    return own.slot == mode.slot || (isOf(.timer) || isOf(.observer)) && !own.isOf(loop)
  }
}
