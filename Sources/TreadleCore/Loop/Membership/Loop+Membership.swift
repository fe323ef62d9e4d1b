// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// Adding items to modes and removing them, from any thread (§3 of the rules). The caller holds the item, and the loop.
extension Loop {
  /// Takes over the reference by which the caller holds the item.
  package func add(taking item: Item, _ name: ModeName) throws(Failure) -> Int32 {
    var result = Status.ignored
    do throws(Failure) {
      if item.isValid && isAlive {
        if let mode = defaultMode(name) {
          if try enter(item, mode) { return Status.ok }
        } else if CommonModes.isCommon(name) {
          if try addToCommonModes(item) { result = Status.ok }
        } else if try enter(item, name) {
          return Status.ok
        }
      }
    } catch {
      item.letGo()
      throw error
    }
    item.letGo()
    return result
  }

  /// For an item that its creator keeps alive otherwise.
  package func add(_ item: Item, _ name: ModeName) throws(Failure) -> Int32 {
    item.holdAgain()
    return try add(taking: item, name)
  }

  /// Has an item enter one concrete mode. True: a reference of the caller's is the mode's from then on.
  func enter(_ item: Item, _ name: ModeName) throws(Failure) -> Bool {
    // Looked at before the mode is made: a refused addition does not make it (RL-7).
    item.lock()
    let isElsewhere = item.isElsewhere(than: self)
    item.unlock()
    if isElsewhere { return false }
    let mode = try withLock { () throws(Failure) in
      let mode = try findOrMakeMode(name)
      mode.holdAgain()
      return mode
    }
    defer { mode.drop() }
    return try droppingIfThreadEnds(mode) { () throws(Failure) in try enter(item, mode) }
  }

  @inline(__always)
  func enter(_ item: Item, _ mode: Mode) throws(Failure) -> Bool {
    if item.mayCallToJoin { return try enterCalling(item, mode) }
    // What has no effect does not look whether the number is open.
    if item.isOf(.descriptor) && item.isMember(of: mode) { return false }
    if try !join(item, mode, descriptor: item.isOf(.descriptor) ? item.watched.number : -1) { return false }
    if isWaitedFor { lookAtNew(item.kind, mode) }
    return true
  }

  /// One that may call its client: whose descriptor, equality or schedule is asked or told.
  private struct Entering {
    let loop: Loop
    let item: Item
    let mode: Mode
    var hasJoined = false

    /// The client has ended the thread. One reference of the item's is left: up to the join the caller's, behind it
    /// that of `enterAndTell`.
    static let abandon: ObjectCall.Abandon = { memory in
      let entering = memory.assumingMemoryBound(to: Entering.self).pointee
      if entering.hasJoined { entering.loop.lookAtJoined(entering.item, entering.mode) }
      entering.item.drop()
    }
  }

  @inline(never)
  private func enterCalling(_ item: Item, _ mode: Mode) throws(Failure) -> Bool {
    var entering = Entering(loop: self, item: item, mode: mode)
    return try withUnsafeMutablePointer(to: &entering) { entering throws(Failure) in
      try ObjectCall.recorded(0, entering, Entering.abandon) { () throws(Failure) in
        try enterAndTell(item, mode) { entering.pointee.hasJoined = true }
      }
    }
  }

  /// An item that may want to be told is kept for the length of that call: once it is in the mode, another thread may
  /// end it.
  private func enterAndTell(_ item: Item, _ mode: Mode, _ noteJoined: () -> Void) throws(Failure) -> Bool {
    if item.hasTrait(Item.Trait.comparable) && containsEqual(item, mode) { return false }
    var descriptor: Int32 = -1
    if item.isOf(.descriptor) {
      // What has no effect does not ask the client.
      if item.isMember(of: mode) { return false }
      descriptor = item.askForDescriptor()
      if descriptor < 0 { throw Failure(Status.argument, "get_fd", "returned a negative descriptor") }
    }
    item.holdAgain()
    defer { item.drop() }
    if try !join(item, mode, descriptor: descriptor) { return false }
    noteJoined()
    if item.isOf(.source) {
      item.tellScheduled(self, mode)
    } else if let context = item.context, let joining = context.pointee.joining {
      joining(context.pointee.main.object, identity)
    }
    lookAtJoined(item, mode)
    return true
  }

  private func lookAtJoined(_ item: Item, _ mode: Mode) {
    if isWaitedFor { lookAtNew(item.kind, mode) }
  }

  /// A sleeping loop takes a new member into account.
  func lookAtNew(_ kind: Kind, _ mode: Mode) {
    switch kind {
    case .source: if isWaiting ? state.currentMode.load(ordering: .relaxed) == mode.slot : isAsleep { wake() }
    case .observer: break
    default: interruptSleep()
    }
  }

  /// Links an item into a mode or the record. True: a reference of the caller's is the mode's from then on.
  func join(_ item: Item, _ mode: Mode, descriptor: Int32) throws(Failure) -> Bool {
    if !mode.isRecord, item.mayJoinFirst, try joinFirst(item, item.generation, mode, .nothing, descriptor: descriptor) {
      return true
    }
    item.lock()
    defer { item.unlock() }
    // What has no effect does not visit the loop.
    if item.member(of: mode) != nil || item.isElsewhere(than: self) { return false }
    lock()
    defer { unlock() }
    let member = try item.cellForMembership(of: mode)
    member.beginMembership(inMode: mode.slot)
    assert(member.tag != item.tag || LockOrder.leave(.claim), "the own cell was claimed")
    // Of this exchange and that of a thread which signals the item, makes it invalid, or claims its own cell, the later
    // one's thread sees what the other wrote: either that thread finds the membership, or here it is found that the
    // item is signalled, invalid or in a mode.
    item.cell.reference.update()
    do throws(Failure) {
      if isAlive, item.isValid, member.tag == item.tag || !item.hasJoinedFirst(mode, self) {
        try link(member, of: item, into: mode, descriptor: descriptor)
        mode.state.isUnlisted = false
        return true
      }
    } catch {
      takeBack(member, of: item, from: mode)
      throw error
    }
    takeBack(member, of: item, from: mode)
    return false
  }

  func takeBack(_ member: Item, of item: Item, from mode: Mode) {
    if item.isOf(.port) && !mode.isRecord {
      mode.endPort(member, self)
    } else {
      member.cell.membership.store(0, ordering: .relaxed)
    }
    if member.tag == item.tag {
      item.cell.reference.clear(Reference.Mark.claimed)
    } else {
      item.dispose(member, from: mode)
    }
  }

  /// Puts a new member into its list or queue. The lock is held.
  @inline(__always)
  func link(_ member: Item, of item: Item, into mode: Mode, descriptor: Int32) throws(Failure) {
    assertHeld()
    item.noteUse()
    if item.hasTrait(Item.Trait.comparable) && !mode.state.comparable.insert(item.valueHash, UInt(member.slot)) {
      throw Failure.noMemory("source")
    }
    if mode.isRecord { return mode.list(item.kind).pointee.append(member) }
    switch item.kind {
    case .source:
      mode.state.sources.append(member)
      // Behind the beginning of the membership, for which whoever signals looks after he has.
      if item.isSignalled && !mode.mention(member) {
        mode.state.sources.remove(member)
        mode.state.comparable.remove(item.valueHash, UInt(member.slot))
        throw Failure.noMemory("source")
      }
    case .descriptor:
      try mode.watch(member, of: item, descriptor: descriptor)
      mode.state.descriptors.append(member)
    case .port: mode.joinPort(member, of: item, self)
    case .timer:
      try mode.needQueue(tolerant: item.hasState(Item.State.tolerant))
      if item.hasTrait(Item.Trait.wall) { try mode.watchClock(self) }
      mode.schedule(member, of: item)
    default:
      return mode.insertObserver(member, of: item)
    }
    mode.countContent(1)
  }

  package func remove(_ item: Item, _ name: ModeName) throws(Failure) -> Int32 {
    guard let mode = try holdMode(name) else { return Status.ignored }
    defer { letGo(mode) }
    return droppingIfThreadEnds(mode) {
      mode.isRecord ? removeFromCommonModes(item, mode) : leave(item, mode)
    }
  }

  /// Takes an item out of one mode, and tells it.
  func leave(_ item: Item, _ mode: Mode) -> Int32 {
    if item.hasNote(Item.Note.aliased) {
      item.lock()
      let member = item.member(of: mode)
      let hasLeft = member.map { takeOut($0, of: item, from: mode) } ?? nil
      item.unlock()
      return finishLeaving(hasLeft)
    }
    if !item.isIn(mode) { return Status.ignored }
    return finishLeaving(takeOut(item, of: item, from: mode))
  }

  private func finishLeaving(_ departure: Departure?) -> Int32 {
    departure?.finish()
    return departure == nil ? Status.ignored : Status.ok
  }

  /// Unlinks a membership: of the item's own cell, or of an alias, with the item's lock held. What follows when all
  /// locks are free; nil if the membership has ended already.
  @inline(__always)
  func takeOut(_ member: Item, of item: Item, from mode: Mode) -> Departure? {
    lock()
    defer { unlock() }
    guard member.isIn(mode), mode.isOf(self) else { return nil }
    unlink(member, of: item, from: mode)
    if member.tag == item.tag { item.cell.reference.clear(Reference.Mark.claimed) }
    return depart(item, from: mode)
  }

  /// The membership ends. The own cell is claimed still. The lock is held.
  @inline(__always)
  func unlink(_ member: Item, of item: Item, from mode: Mode) {
    assertHeld()
    if item.hasTrait(Item.Trait.comparable) { mode.state.comparable.remove(item.valueHash, UInt(member.slot)) }
    if mode.isRecord {
      mode.list(item.kind).pointee.remove(member)
    } else {
      switch item.kind {
      case .source: mode.state.sources.remove(member)
      case .descriptor:
        mode.unwatch(member)
        mode.state.descriptors.remove(member)
      case .port: mode.leavePort(member, of: item, self)
      case .timer: mode.unschedule(member)
      default: mode.removeObserver(member)
      }
      if item.kind != .observer { mode.countContent(-1) }
    }
    // A port's is over already.
    if mode.isRecord || !item.isOf(.port) { member.cell.membership.store(0, ordering: .releasing) }
    if member.tag != item.tag { item.dispose(member, from: mode) }
  }

  /// What an item leaves behind that has just left a mode. The lock is held.
  @inline(__always)
  func depart(_ item: Item, from mode: Mode) -> Departure {
    assertHeld()
    let isTold = item.isOf(.source) && !mode.isRecord && item.context?.pointee.isToldOfCancel == true
    if isTold {
      // All are kept for the length of the call, whatever becomes of the loop's thread (OBJ-3).
      holdAgain()
      item.holdAgain()
      mode.holdAgain()
    }
    return Departure(item: item, isDropped: !leaveToCall(item), told: isTold ? mode : nil)
  }

  package func contains(_ item: Item, _ name: ModeName) throws(Failure) -> Bool {
    guard let mode = try holdMode(name) else { return false }
    defer { letGo(mode) }
    if item.isMember(of: mode) { return true }
    if !item.hasTrait(Item.Trait.comparable) { return false }
    return droppingIfThreadEnds(mode) { containsEqual(item, mode) }
  }

  /// At the end of the thread: every item leaves, sources first, with their cancel (RL-8).
  @_optimize(size)
  func removeAllItems() {
    Kind.forEachItemKind { kind in
      if let record { removeAll(kind, from: record) }
      var index = 0
      while let mode = mode(at: index) {
        removeAll(kind, from: mode)
        index &+= 1
      }
    }
  }

  /// One of the loop's modes, in the order in which they were made.
  func mode(at index: Int) -> Mode? {
    lock()
    defer { unlock() }
    return state.modes[index].flatMap { Mode(slot: $0) }
  }

  @_optimize(size)
  private func removeAll(_ kind: Kind, from mode: Mode) {
    while true {
      lock()
      let item = mode.anyMember(kind)?.primary
      // A member is kept by its mode, while the lock is held.
      item?.holdAgain()
      unlock()
      guard let item else { return }
      _ = leave(item, mode)
      item.drop()
    }
  }
}
