// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// Adding items to modes and removing them, from any thread (§3 of the rules).
extension Loop {
  package func add(_ item: Item, _ name: ModeName) throws(Failure) -> Int32 {
    guard item.isValid, isAlive else { return Status.ignored }
    if let mode = defaultMode(name) { return try addToMode(item, mode) }
    return CommonModes.isCommon(name) ? try addToCommonModes(item) : try addToMode(item, name)
  }

  /// Records the item, and adds it to every mode that is in the set now, also where it was recorded before and
  /// has left one of them since (MODE-8).
  @_optimize(size)
  private func addToCommonModes(_ item: Item) throws(Failure) -> Int32 {
    guard let record else { return Status.ignored }
    let isNew = try join(item, record, descriptor: -1) != nil
    var hasJoined = false
    var failure: Failure?
    forEachCommonMode { name in
      do throws(Failure) { if try follow(item, into: name) { hasJoined = true } } catch { failure = error }
    }
    if let failure {
      // Nothing changed: what was added is taken back.
      if isNew { _ = remove(item, record: record) }
      throw failure
    }
    return isNew || hasJoined ? Status.ok : Status.ignored
  }

  /// Makes a common mode have an item exactly if the item is recorded. Recording and following it are two
  /// steps, since the second calls the client; whoever raced with another's looks again after his own. Whether
  /// the mode has it now and had it not before.
  @discardableResult
  @inline(never)
  @_optimize(size)
  func follow(_ item: Item, into name: ModeName) throws(Failure) -> Bool {
    guard let mode = lookUp(name), let record else { return false }
    var isRecorded = item.isMember(of: record)
    var hasJoined = false
    while true {
      if isRecorded { hasJoined = try addToMode(item, name) == Status.ok } else { _ = leave(item, mode) }
      let now = item.isMember(of: record)
      if now == isRecorded || !item.isValid { return hasJoined && now }
      isRecorded = now
    }
  }

  /// Calls `body` with the name of each mode of the common set, without the lock: modes never go away, and
  /// new ones are appended.
  private func forEachCommonMode(_ body: (ModeName) -> Void) {
    var index = 0
    while true {
      mutex.lock()
      let slot = state.pointee.modes[index]
      let mode = slot.flatMap { Mode(slot: $0) }
      let isCommon = mode?.state.pointee.isCommon == true
      mutex.unlock()
      guard let mode else { return }
      if isCommon, let name = mode.name { body(ModeName(name)) }
      index &+= 1
    }
  }

  /// Adds an item to one concrete mode, and tells it.
  func addToMode(_ item: Item, _ name: ModeName) throws(Failure) -> Int32 {
    // Looked at before the mode is made: a refused addition does not make it (RL-7).
    if item.isElsewhere(than: self) { return Status.ignored }
    return try addToMode(item, try withLock { () throws(Failure) in try findOrMakeMode(name) })
  }

  private func addToMode(_ item: Item, _ mode: Mode) throws(Failure) -> Int32 {
    if item.hasFlag(Item.Flag.comparable) && containsEqual(item, mode) { return Status.ignored }
    var descriptor: Int32 = -1
    if item.kind == .descriptor {
      // Asked before each add, outside of every lock (SRC1-3); not if the add has no effect.
      if item.isMember(of: mode) { return Status.ignored }
      descriptor = item.askForDescriptor()
      if descriptor < 0 { throw Failure(Status.argument, "get_fd", "answered a negative descriptor") }
    }
    guard try join(item, mode, descriptor: descriptor) != nil else { return Status.ignored }
    if item.kind == .source {
      item.tellScheduled(self, mode)
      if !isCurrent && isWaiting && currentMode?.slot == mode.slot { wake() }
    } else if !isCurrent && item.kind != .observer {
      interruptSleep()
    }
    return Status.ok
  }

  /// Links an item into a mode or the record. Nil when that has no effect.
  private func join(_ item: Item, _ mode: Mode, descriptor: Int32) throws(Failure) -> Item? {
    item.lock()
    defer { item.unlock() }
    guard item.isValid, item.member(of: mode) == nil, !item.isElsewhereLocked(than: self) else { return nil }
    item.disown()
    // The chain of a timer's memberships changes under its loop's lock too: the loop walks it.
    let lock = mutex
    lock.lock()
    defer { lock.unlock() }
    let member = try item.freeMember(for: mode)
    // A timer may have become invalid, and left its only mode, under the loop's lock alone.
    guard isAlive, item.isValid else {
      item.dispose(member)
      return nil
    }
    do throws(Failure) {
      try link(member, of: item, into: mode, descriptor: descriptor)
    } catch {
      item.dispose(member)
      throw error
    }
    mode.state.pointee.isUnlisted = false
    item.cell.pointee.reference.retainHeld()
    return member
  }

  /// Both locks are held.
  private func link(_ member: Item, of item: Item, into mode: Mode, descriptor: Int32) throws(Failure) {
    if mode.state.pointee.isRecord {
      mode.withList(item.kind) { $0.append(member) }
      member.enter(mode)
      return
    }
    switch item.kind {
    case .source:
      mode.state.pointee.sources.append(member)
    case .descriptor:
      try mode.watch(member, of: item, descriptor: descriptor)
      mode.state.pointee.descriptors.append(member)
    case .timer:
      try mode.needQueue(tolerant: item.hasFlag(Item.Flag.tolerant))
      member.enter(mode)
      mode.schedule(member, of: item)
    default:
      mode.insertObserver(member, of: item)
    }
    if item.kind != .timer { member.enter(mode) }
    // Looked at after the source has entered: whoever signals it looks for its mode afterwards.
    let flags = item.cell.pointee.flags.load(ordering: .sequentiallyConsistent)
    if item.kind == .source && flags & Item.Flag.signalled != 0 { mode.mention(member) }
    if item.kind != .observer { mode.countContent(1) }
  }

  package func remove(_ item: Item, _ name: ModeName) -> Int32 {
    guard let mode = lookUp(name) else { return Status.ignored }
    return mode.state.pointee.isRecord ? remove(item, record: mode) : leave(item, mode)
  }

  /// Un-records the item, and removes it from every mode of the set (MODE-8).
  @_optimize(size)
  private func remove(_ item: Item, record: Mode) -> Int32 {
    guard leave(item, record) == Status.ok else { return Status.ignored }
    forEachCommonMode { name in _ = try? follow(item, into: name) }
    return Status.ok
  }

  /// Takes an item out of one mode, and tells it.
  @inline(never)
  func leave(_ item: Item, _ mode: Mode) -> Int32 {
    item.lock()
    guard let member = item.member(of: mode) else {
      item.unlock()
      return Status.ignored
    }
    item.disown()
    let hasLeft = takeOut(member, of: item, from: mode)
    item.unlock()
    if !hasLeft { return Status.ignored }
    item.finishLeaving(self, mode)
    return Status.ok
  }

  /// Unlinks a membership. The item's lock is held; the mode's reference passes to the caller. False if the
  /// membership has ended already: a timer's only one may under the loop's lock alone.
  @inline(never)
  func takeOut(_ member: Item, of item: Item, from mode: Mode) -> Bool {
    let lock = mutex
    lock.lock()
    defer { lock.unlock() }
    if !member.isIn(mode) { return false }
    if mode.state.pointee.isRecord {
      mode.withList(item.kind) { $0.remove(member) }
    } else {
      switch item.kind {
      case .source: mode.state.pointee.sources.remove(member)
      case .descriptor:
        mode.unwatch(member, of: item)
        mode.state.pointee.descriptors.remove(member)
      case .timer: mode.unschedule(member)
      default: mode.removeObserver(member)
      }
      if item.kind != .observer { mode.countContent(-1) }
    }
    member.exit(mode, of: self)
    if item.kind == .source && member.slot == item.slot { item.endFlood(on: self) }
    item.dispose(member)
    return true
  }

  package func contains(_ item: Item, _ name: ModeName) -> Bool {
    guard let mode = lookUp(name) else { return false }
    return item.isMember(of: mode) || item.hasFlag(Item.Flag.comparable) && containsEqual(item, mode)
  }

  /// At the end of the thread: every item leaves, sources first, with their cancel (RL-8).
  func removeAllItems() {
    Kind.forEachItemKind { kind in
      if let record { removeAll(kind, from: record) }
      var index = 0
      while let slot = state.pointee.modes[index] {
        if let mode = Mode(slot: slot) { removeAll(kind, from: mode) }
        index &+= 1
      }
    }
  }

  @inline(never)
  private func removeAll(_ kind: Kind, from mode: Mode) {
    while true {
      mutex.lock()
      let member = kind == .timer && !mode.state.pointee.isRecord ? mode.anyTimer : Item(kind, slot: mode.list(kind).first)
      let item = member?.primary
      let isHeld = item.map { $0.cell.pointee.reference.retain(generation: $0.generation) } ?? false
      mutex.unlock()
      guard let item, isHeld else { return }
      _ = leave(item, mode)
      item.drop()
    }
  }
}

extension Item {
  /// The cell becomes a membership in a mode. The loop's lock is held.
  fileprivate func enter(_ mode: Mode) {
    if kind == .timer {
      setTimerMode(mode.slot)
    } else {
      cell.pointee.mode.store(nextMembership(in: mode.slot), ordering: .sequentiallyConsistent)
    }
  }

  /// The membership ends; queued mentions of it are stale from here on. The loop's lock is held.
  fileprivate func exit(_ mode: Mode, of loop: Loop) {
    if kind == .timer { return setTimerMode(0) }
    // Under the gate, where those who signal look whether the membership still stands.
    loop.state.pointee.gate.lock()
    cell.pointee.mode.store(nextMembership(in: 0), ordering: .sequentiallyConsistent)
    if kind == .source { mode.state.pointee.staleSignals = mode.state.pointee.staleSignals &+ 1 }
    loop.state.pointee.gate.unlock()
  }

  /// What the cell's word `mode` shows as of its next membership, in the mode of a slot; 0 for none.
  @inline(__always)
  func nextMembership(in slot: UInt32) -> UInt32 {
    (cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask) &+ Mention.serialStep | slot
  }

  /// A timer's next membership, or none. The loop's lock is held. Nobody looks at a timer's membership without one of
  /// the locks and counts on the order.
  @inline(__always)
  func setTimerMode(_ slot: UInt32) { cell.pointee.mode.store(nextMembership(in: slot), ordering: .releasing) }
}
