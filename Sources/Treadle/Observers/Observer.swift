// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// What a loop tells its observers (OBS-1).
package enum Activity {
  package static let entry: UInt32 = 0x1
  package static let beforeTimers: UInt32 = 0x2
  package static let beforeSources: UInt32 = 0x4
  package static let beforeWaiting: UInt32 = 0x20
  package static let afterWaiting: UInt32 = 0x40
  package static let exit: UInt32 = 0x80
  package static let all: UInt32 = 0x0FFF_FFFF
}

/// Observers (§5 of the rules).
extension Item {
  package static func observer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions, activities: UInt32,
    once: Bool
  ) throws(Failure) -> Item {
    treadle_system_prepare_barrier()
    var context = options.value
    context.activities = activities
    var flags: UInt32 = once ? Flag.once : 0
    if context.main.invoke != nil { flags |= Flag.indirect }
    return try create(.observer, flags: flags, code: code, info: info, context: context)
  }

  package var activities: UInt32 { context?.pointee.activities ?? 0 }
}

/// The observers of a mode in the order of their calls, fixed: a notification walks it while the mode
/// may get another (OBS-3). The owner's alone: it makes another one when the mode's observers have changed.
struct ObserverSnapshot {
  /// What a call takes, besides the mention: good as long as the mode's observers have not changed.
  struct Entry {
    var mention: UInt64
    var activities: UInt32
    /// Of the observer.
    var slot: UInt32
    var cell: UnsafeMutablePointer<ItemCell>?
    var handle: UInt
    /// Its plain callback; nil if it is to be looked at before each call: a one-shot, or one that has no such callback.
    var code: UnsafeMutableRawPointer?
    var info: UnsafeMutableRawPointer?
  }

  private var uses: Int
  /// The mode's `observerChanges` that it was made after.
  fileprivate(set) var changes: UInt32 = 0
  private(set) var entries = Buffer<Entry>()

  private init() { uses = 1 }

  /// Of a mode's list, with one use that is the mode's; nil when there is no memory.
  static func make(_ list: MemberList, for loop: Loop) -> UnsafeMutablePointer<ObserverSnapshot>? {
    guard let memory = treadle_system_allocate(MemoryLayout<ObserverSnapshot>.size) else { return nil }
    let snapshot = memory.bindMemory(to: ObserverSnapshot.self, capacity: 1)
    snapshot.initialize(to: ObserverSnapshot())
    var next = list.first
    while let member = Item(.observer, slot: next) {
      next = member.cell.pointee.next
      let item = member.primary
      let isPlain = !item.hasFlag(Item.Flag.once | Item.Flag.indirect) && item.noteCaller(loop)
      let entry = Entry(
        mention: Mention(member).bits, activities: item.activities, slot: item.slot, cell: item.cell,
        handle: item.handle.bits, code: isPlain ? item.code : nil, info: item.cell.pointee.info)
      if !snapshot.pointee.entries.append(entry) {
        release(snapshot)
        return nil
      }
    }
    return snapshot
  }

  static func retain(_ snapshot: UnsafeMutablePointer<ObserverSnapshot>) { snapshot.pointee.uses &+= 1 }

  static func release(_ snapshot: UnsafeMutablePointer<ObserverSnapshot>) {
    snapshot.pointee.uses &-= 1
    if snapshot.pointee.uses > 0 { return }
    snapshot.pointee.entries.free()
    treadle_system_free(snapshot)
  }
}

/// The observers of a mode. The caller holds the loop's lock, where the text does not say otherwise.
extension Mode {
  /// Ascending by order, behind those of the same order (OBS-2).
  func insertObserver(_ member: Item, of item: Item) {
    var before = state.pointee.observers.last
    while let other = Item(.observer, slot: before), other.primary.order > item.order {
      before = other.cell.pointee.previous
    }
    state.pointee.observers.insert(member, after: before)
    observersChanged()
  }

  func removeObserver(_ member: Item) {
    state.pointee.observers.remove(member)
    observersChanged()
  }

  private func observersChanged() {
    state.pointee.observerChanges.store(state.pointee.observerChanges.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    var interest: UInt32 = 0
    var next = state.pointee.observers.first
    while let member = Item(.observer, slot: next) {
      interest |= member.primary.activities
      next = member.cell.pointee.next
    }
    state.pointee.interest.store(interest, ordering: .releasing)
    noteRevision()
  }

  /// Whether any observer wants to be told of an activity. Any thread, no lock.
  @inline(__always)
  func hasInterest(in activity: UInt32) -> Bool {
    state.pointee.interest.load(ordering: .acquiring) & activity != 0
  }

  /// What a notification walks, with a use that it gives back. Takes the lock if the observers have changed. Owner.
  @inline(__always)
  func beginNotification() -> UnsafeMutablePointer<ObserverSnapshot>? {
    if state.pointee.snapshot?.pointee.changes != state.pointee.observerChanges.load(ordering: .acquiring) { renewSnapshot() }
    guard let snapshot = state.pointee.snapshot else { return nil }
    ObserverSnapshot.retain(snapshot)
    return snapshot
  }

  /// Without memory there is none, and the next notification tries again.
  @inline(never)
  private func renewSnapshot() {
    guard let loop else { return }
    let old = state.pointee.snapshot
    loop.mutex.lock()
    state.pointee.snapshot = ObserverSnapshot.make(state.pointee.observers, for: loop)
    state.pointee.snapshot?.pointee.changes = state.pointee.observerChanges.load(ordering: .relaxed)
    loop.mutex.unlock()
    if let old { ObserverSnapshot.release(old) }
  }
}
