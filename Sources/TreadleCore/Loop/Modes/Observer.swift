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
  /// Of no run: `treadle_loop_prepare` is called. Not in `all`.
  package static let prepare: UInt32 = 0x1000_0000
  package static let all: UInt32 = 0x0FFF_FFFF
}

/// Observers (§5 of the rules).
extension Item {
  package static func observer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context, activities: UInt32,
    once: Bool
  ) throws(Failure) -> Item {
    var context = context
    context.activities = activities
    var traits: UInt8 = once ? Trait.once : 0
    if context.main.invoke != nil { traits |= Trait.indirect }
    return try create(.observer, traits: traits, code: code, info: info, context: context) { _ in }
  }

  package var activities: UInt32 { context?.pointee.activities ?? 0 }
}

/// The observers of a mode in the order of their calls, with what they want to be told. The owner's alone: it makes it
/// anew when the mode's observers have changed.
struct ObserverList {
  private(set) var entries = Buffer<Entry>()
  /// The mode's `observerChanges` that it was made after.
  private var changes: UInt32 = 0

  /// The mode's list as it is. False, and the next notification tries again, when there is no memory.
  @inline(__always)
  mutating func renew(of mode: Mode) -> Bool {
    changes == mode.state.observerChanges.load(ordering: .relaxed) || renewNow(of: mode)
  }

  @inline(never)
  private mutating func renewNow(of mode: Mode) -> Bool {
    guard let loop = mode.loop else { return false }
    loop.lock()
    defer { loop.unlock() }
    entries.removeAll()
    if mode.state.observersAreMixed && !mode.putObserversInOrder() { return false }
    var interest: UInt32 = 0
    var next = mode.state.observers.first
    while let member = Item(.observer, slot: next) {
      next = member.cell.next
      let activities = member.primary.activities
      interest |= activities
      if !entries.append(Entry(member, UInt64(activities))) { return false }
    }
    mode.state.interest.store(interest, ordering: .relaxed)
    changes = mode.state.observerChanges.load(ordering: .relaxed)
    return true
  }

  mutating func free() {
    entries.free()
    changes = 0
  }
}

/// The observers of a mode. The loop's lock is held, where the text does not say otherwise.
extension Mode {
  /// Behind all others: who is called first is decided when anybody is called.
  func insertObserver(_ member: Item, of item: Item) {
    assertHeld()
    let last = Item(.observer, slot: state.observers.last)
    if let last, last.primary.order > item.order { state.observersAreMixed = true }
    state.observers.append(member)
    let interest = state.interest.load(ordering: .relaxed)
    state.interest.store(interest | item.activities, ordering: .relaxed)
    countObserverChange()
  }

  /// Ascending by order; those of one order stay as they came (OBS-2). False when there is no memory: nothing changed
  /// then.
  func putObserversInOrder() -> Bool {
    assertHeld()
    var sorted = Buffer<StableSort.Keyed>()
    var room = Buffer<StableSort.Keyed>()
    defer {
      sorted.free()
      room.free()
    }
    var next = state.observers.first
    while let member = Item(.observer, slot: next) {
      next = member.cell.next
      let place = UInt64(sorted.count)
      if !sorted.append(StableSort.Keyed(key: member.primary.order, second: place, value: UInt64(member.slot))) {
        return false
      }
    }
    guard StableSort.sort(&sorted, with: &room) else { return false }
    state.observers = MemberList()
    for keyed in sorted.elements {
      if let member = Item(.observer, slot: UInt32(truncatingIfNeeded: keyed.value)) { state.observers.append(member) }
    }
    state.observersAreMixed = false
    return true
  }

  /// What nobody wants to be told any more shows when the owner makes its list anew.
  func removeObserver(_ member: Item) {
    assertHeld()
    state.observers.remove(member)
    countObserverChange()
  }

  private func countObserverChange() {
    let changes = state.observerChanges.load(ordering: .relaxed)
    state.observerChanges.store(changes &+ 1, ordering: .relaxed)
  }

  /// Whether any observer wants to be told of an activity. Any thread, no lock. Relaxed, as the count of changes is:
  /// what they lead to is read under the lock, and an observer of which the owner is to know came before something that
  /// orders it, such as a wake-up.
  @inline(__always)
  func hasInterest(in activity: UInt32) -> Bool {
    state.interest.load(ordering: .relaxed) & activity != 0
  }

  /// Any member of a kind, if there is one.
  func anyMember(_ kind: Kind) -> Item? {
    assertHeld()
    if let member = Item(kind, slot: list(kind).pointee.first) { return member }
    return kind == .timer && !isRecord ? state.queue?.pointee.any() : nil
  }
}
