// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// The common set: modes that get every item which is recorded for them (MODE-8).
extension Loop {
  /// Records the item, and adds it to every mode that is in the set now, also where it was recorded before and has left
  /// one of them since.
  @inline(never)
  func addToCommonModes(_ item: Item) throws(Failure) -> Bool {
    guard let record else { return false }
    let isNew = try holding(item) { () throws(Failure) in try join(item, record, descriptor: -1) }
    var hasJoined = false
    var failure: Failure?
    item.droppedIfThreadEnds {
      forEachCommonMode { mode in
        do throws(Failure) { if try follow(item, into: mode) { hasJoined = true } } catch { failure = error }
      }
    }
    if let failure {
      // Nothing changed: what was added is taken back.
      if isNew { _ = removeFromCommonModes(item, record) }
      throw failure
    }
    return isNew || hasJoined
  }

  /// Runs `body`, which passes a reference to a mode if it is true.
  private func holding(_ item: Item, _ body: () throws(Failure) -> Bool) throws(Failure) -> Bool {
    item.holdAgain()
    var isPassedOn = false
    defer { if !isPassedOn { item.drop() } }
    isPassedOn = try body()
    return isPassedOn
  }

  /// Un-records the item, and removes it from every mode of the set.
  func removeFromCommonModes(_ item: Item, _ record: Mode) -> Int32 {
    guard leave(item, record) == Status.ok else { return Status.ignored }
    followOut(item)
    return Status.ok
  }

  private struct Following {
    let loop: Loop
    let item: Item
  }

  /// Has an item leave the common modes that is not recorded any more. Each cancel may end the thread: the item leaves
  /// the others all the same.
  private func followOut(_ item: Item) {
    ObjectCall.recorded(
      0, holding: Following(loop: self, item: item),
      { memory in
        let following = memory.assumingMemoryBound(to: Following.self).pointee
        following.loop.followOut(following.item)
      }
      // To leave a mode does not fail.
    ) { forEachCommonMode { mode in _ = try? follow(item, into: mode) } }
  }

  /// Makes a common mode have an item exactly if the item is recorded. Recording and following it are two steps, since
  /// the second calls the client; whoever raced with another's looks again after his own. Whether the mode has it now
  /// and had it not before.
  @discardableResult
  @inline(never)
  @_optimize(size)
  private func follow(_ item: Item, into mode: Mode) throws(Failure) -> Bool {
    guard let record else { return false }
    var isRecorded = item.isMember(of: record)
    var hasJoined = false
    while true {
      if isRecorded {
        hasJoined = try holding(item) { () throws(Failure) in try enter(item, mode) }
      } else {
        _ = leave(item, mode)
      }
      let now = item.isMember(of: record)
      if now == isRecorded || !item.isValid { return hasJoined && now }
      isRecorded = now
    }
  }

  /// Calls `body` with each mode of the common set, without the lock: none of them ever goes away, and the default mode
  /// is the first. One that joins meanwhile gets what is recorded by then.
  private func forEachCommonMode(_ body: (Mode) -> Void) {
    var next = defaultMode
    while let mode = next {
      body(mode)
      lock()
      next = Mode(slot: mode.state.nextCommon)
      unlock()
    }
  }

  /// Puts a mode into the common set: it gets every recorded item, in the order of recording.
  @_optimize(size)
  package func addCommonMode(_ name: ModeName) throws(Failure) -> Int32 {
    if CommonModes.isCommon(name) {
      throw Failure(Status.argument, "mode", "is the name of the common modes themselves")
    }
    if !isAlive { return Status.ignored }
    let joining = try withLock { () throws(Failure) -> Mode? in
      let mode = try findOrMakeUnlistedMode(name)
      guard let defaultMode, !mode.isCommon else { return nil }
      mode.state.nextCommon = defaultMode.state.nextCommon
      defaultMode.state.nextCommon = mode.slot
      mode.state.isCommon.store(true, ordering: .relaxed)
      return mode
    }
    guard let joining else { return Status.ignored }
    try Kind.forEachItemKind { kind throws(Failure) in try addRecorded(kind, to: joining) }
    return Status.ok
  }

  /// Adds the recorded items of one kind to a mode that joined the set. They are taken down first, with a reference
  /// each, since adding calls the client.
  @_optimize(size)
  private func addRecorded(_ kind: Kind, to mode: Mode) throws(Failure) {
    var recorded = Recorded(kind: kind)
    let isComplete = try withLock { () throws(Failure) -> Bool in
      guard let record else { return true }
      var next = record.list(kind).pointee.first
      while let member = Item(kind, slot: next) {
        let item = member.primary
        if !recorded.slots.append(item.slot) { return false }
        item.holdAgain()
        next = member.cell.next
      }
      return true
    }
    var failure: Failure?
    withUnsafeMutablePointer(to: &recorded) { recorded in
      ObjectCall.recorded(0, recorded, { $0.assumingMemoryBound(to: Recorded.self).pointee.drop() }) {
        while let item = recorded.pointee.next {
          do throws(Failure) { try follow(item, into: mode) } catch { failure = error }
          recorded.pointee.dropFirst()
        }
      }
    }
    recorded.drop()
    if let failure { throw failure }
    if !isComplete { throw Failure.noMemory("mode") }
  }
}

/// Recorded items, with a reference each.
private struct Recorded {
  let kind: Kind
  var slots = Buffer<UInt32>()
  private var index = 0

  init(kind: Kind) { self.kind = kind }

  var next: Item? { slots[index].flatMap { Item(kind, slot: $0) } }

  mutating func dropFirst() {
    let item = next
    index &+= 1
    item?.drop()
  }

  /// Those that are left, and the room for them.
  mutating func drop() {
    while next != nil { dropFirst() }
    slots.free()
  }
}

/// Sources that are the same by value (SRC0-5): both have the same `equal`, perform, order and hash, and
/// `equal` says so of their infos.
extension Loop {
  /// Whether the mode has a source that equals this one. Calls clients, so no lock is held around it.
  func containsEqual(_ item: Item, _ mode: Mode) -> Bool {
    guard let context = item.context, let equal = context.pointee.equal else { return false }
    var candidates = Recorded(kind: item.kind)
    lock()
    _ = mode.state.comparable.find(item.valueHash) { slot in
      guard let other = item.sibling(UInt32(truncatingIfNeeded: slot))?.primary else { return false }
      if other.slot != item.slot, mayEqual(other, item), candidates.slots.append(other.slot) { other.holdAgain() }
      return false
    }
    unlock()
    var found = false
    withUnsafeMutablePointer(to: &candidates) { candidates in
      ObjectCall.recorded(0, candidates, { $0.assumingMemoryBound(to: Recorded.self).pointee.drop() }) {
        while !found, let other = candidates.pointee.next {
          found = other.isValid && ClientCall.status(equal, item.cell.info, other.cell.info) != 0
          candidates.pointee.dropFirst()
        }
      }
    }
    candidates.drop()
    return found
  }

  private func mayEqual(_ one: Item, _ other: Item) -> Bool {
    guard let first = one.context, let second = other.context else { return false }
    return first.pointee.hash == second.pointee.hash && first.pointee.order == second.pointee.order
      && one.code == other.code
      && unsafeBitCast(first.pointee.equal, to: UInt.self) == unsafeBitCast(second.pointee.equal, to: UInt.self)
  }
}

extension Item {
  /// Of a source with an `equal`; others that are the same by value have the same.
  var valueHash: UInt64 { context.map { $0.pointee.hash ^ UInt64(bitPattern: $0.pointee.order) } ?? 0 }
}
