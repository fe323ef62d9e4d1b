// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The descriptors of one mode: a level-triggered epoll set, of which up to 256 events are taken at a
/// time and handled one a pass. The loop's wake descriptor is in every set, edge-triggered, and never
/// read.
///
/// A descriptor whose source has ended on the loop's own thread is *left behind* in the set: as a rule the client closes it
/// next, and then the kernel takes it out itself. Should it report all the same, because it stays open or its file lives on
/// under another number, it is taken out then, by its number or by making the set anew; its report means nothing, since its
/// source's slot is in another generation, or is invalid. From then on nothing is left behind in this set any more. A source
/// that merely leaves the mode may come back with another number, and is taken out at once.
struct Poller {
  let state: UnsafeMutablePointer<PollerState>

  private static let wakeMention: UInt64 = 0
  /// No membership is mentioned so: generation and slot are those of nothing.
  private static let interruptMention = UInt64.max
  /// In `owners`: nobody watches the number, but it may still be in the set.
  private static let leftBehind = UInt32.max
  private static let oneShotIn: UInt32 = 0x4000_0001
  private static let edgeTriggeredIn: UInt32 = 0x8000_0001

  /// The caller holds the loop's lock.
  @_optimize(size)
  static func make(for loop: Loop) throws(Failure) -> Poller {
    let wake = try needWakeDescriptor(loop)
    let epoll = try makeSet(wake)
    guard let memory = treadle_system_allocate(MemoryLayout<PollerState>.size) else {
      treadle_system_close(epoll)
      throw Failure.noMemory("descriptor")
    }
    let state = memory.bindMemory(to: PollerState.self, capacity: 1)
    state.initialize(to: PollerState(epoll: epoll))
    return Poller(state: state)
  }

  private static func needWakeDescriptor(_ loop: Loop) throws(Failure) -> Int32 {
    let known = loop.state.pointee.wakeDescriptor.load(ordering: .acquiring)
    if known >= 0 { return known }
    let made = treadle_system_eventfd()
    if made < 0 { throw Failure.system("eventfd", made) }
    loop.state.pointee.wakeDescriptor.store(made, ordering: .releasing)
    return made
  }

  private static func makeSet(_ wake: Int32) throws(Failure) -> Int32 {
    let epoll = treadle_system_epoll_create()
    if epoll < 0 { throw Failure.system("epoll_create1", epoll) }
    let result = treadle_system_epoll_control(epoll, 1, wake, edgeTriggeredIn, wakeMention)
    if result < 0 {
      treadle_system_close(epoll)
      throw Failure.system("epoll_ctl", result)
    }
    return epoll
  }

  func free() {
    treadle_system_close(state.pointee.epoll)
    state.pointee.owners.free()
    state.pointee.alwaysReady.free()
    state.pointee.events.free()
    treadle_system_free(state)
  }

  // MARK: Registrations: the loop's lock is held

  @_optimize(size)
  func add(_ member: Item, mention: UInt64, wake: Int32) throws(Failure) {
    let number = member.descriptor.pointee.number
    // A number that the client closed may be one of ours by now.
    if number == wake || number == state.pointee.epoll { throw Failure.system("fd", 0 &- treadle_system_ebadf()) }
    try reserveOwner(number)
    if let owner = owner(of: number) {
      if isStanding(owner) { throw Failure(Status.exists, "fd", "is watched by another source in this mode") }
      state.pointee.mayStray.store(true, ordering: .releasing)
    }
    let kernelEvents = Readiness.toKernel(UInt32(member.descriptor.pointee.events))
    if kernelEvents == 0 {
      try Poller.demandOpen(number)
    } else {
      let result = putIn(number, kernelEvents, mention)
      if result == 0 &- treadle_system_eperm() {
        guard state.pointee.alwaysReady.append(mention) else { throw Failure.noMemory("descriptor") }
        countAlwaysReady()
      } else if result < 0 {
        throw Failure.system(result == 0 &- treadle_system_ebadf() ? "fd" : "epoll_ctl", result)
      }
    }
    state.pointee.owners.set(Int(number), member.slot)
  }

  /// Whether a number that was seen before is watched by nobody, and is none of ours.
  @inline(__always)
  func isFree(_ number: Int32, wake: Int32) -> Bool {
    guard number != wake, number != state.pointee.epoll, let owner = state.pointee.owners[Int(number)] else { return false }
    return owner == 0 || owner == Poller.leftBehind
  }

  /// Watches such a number for a membership that is about to begin. False if the kernel refuses.
  @inline(__always)
  func enter(_ member: Item, _ number: Int32, _ events: UInt32, mention: UInt64) -> Bool {
    if putIn(number, Readiness.toKernel(events), mention) != 0 { return false }
    state.pointee.owners.set(Int(number), member.slot)
    return true
  }

  /// isOver: its source has ended, on the loop's own thread.
  func remove(_ member: Item, isOver: Bool) {
    let number = member.descriptor.pointee.number
    let wasAlwaysReady = !state.pointee.alwaysReady.isEmpty && forgetAlwaysReady(member.slot)
    // A number that was closed and is watched by another source now must be left alone.
    guard state.pointee.owners[Int(number)] == member.slot else { return }
    let isInSet = member.descriptor.pointee.events != 0 && !wasAlwaysReady
    let isLeft = isInSet && isOver && !state.pointee.hasStrayed
    state.pointee.owners.set(Int(number), isLeft ? Poller.leftBehind : 0)
    if isLeft || isInSet && !takeOut(number) { state.pointee.mayStray.store(true, ordering: .releasing) }
  }

  /// If the number is in the set it means the same file still, and was left behind, or closed while a copy kept the file
  /// alive: it is taken over.
  @inline(__always)
  private func putIn(_ number: Int32, _ kernelEvents: UInt32, _ mention: UInt64) -> Int32 {
    let result = treadle_system_epoll_control(state.pointee.epoll, 1, number, kernelEvents, mention)
    if result != 0 &- treadle_system_eexist() { return result }
    return treadle_system_epoll_control(state.pointee.epoll, 3, number, kernelEvents, mention)
  }

  @discardableResult
  private func takeOut(_ number: Int32) -> Bool {
    treadle_system_epoll_control(state.pointee.epoll, 2, number, 0, 0) >= 0
  }

  /// Something has reported that nobody watches: so many, at most. Takes out all that was left behind. False if that is not
  /// as many: then the set has to be made anew. Owner.
  @_optimize(size)
  func takeOutLeftBehind(_ reports: Int) -> Bool {
    state.pointee.hasStrayed = true
    var taken = 0
    var number: Int32 = 0
    for owner in state.pointee.owners.elements {
      if owner == Poller.leftBehind {
        state.pointee.owners.set(Int(number), 0)
        if number != state.pointee.interrupt && takeOut(number) { taken &+= 1 }
      }
      number &+= 1
    }
    return taken >= reports
  }

  @_optimize(size)
  func change(_ member: Item, mention: UInt64, from old: UInt16, to events: UInt16) throws(Failure) {
    let number = member.descriptor.pointee.number
    let kernelEvents = Readiness.toKernel(UInt32(events))
    if old == events || state.pointee.owners[Int(number)] != member.slot { return }
    if events == 0 {
      forgetAlwaysReady(member.slot)
      takeOut(number)
      return
    }
    if old != 0 && isAlwaysReady(member.slot) { return }
    let result = treadle_system_epoll_control(state.pointee.epoll, old == 0 ? 1 : 3, number, kernelEvents, mention)
    if result == 0 &- treadle_system_eperm() {
      guard state.pointee.alwaysReady.append(mention) else { throw Failure.noMemory("descriptor") }
      countAlwaysReady()
    } else if result < 0 {
      throw Failure.system("epoll_ctl", result)
    }
  }

  private func owner(of number: Int32) -> Item? {
    guard let slot = state.pointee.owners[Int(number)], slot != Poller.leftBehind else { return nil }
    return Item(.descriptor, slot: slot)
  }

  static func demandOpen(_ number: Int32) throws(Failure) {
    let result = treadle_system_is_open(number)
    if result < 0 { throw Failure.system("fd", result) }
  }

  /// Room up to a number that was not seen before. There is none for one that is not open, which may be any; of the
  /// others, epoll tells.
  private func reserveOwner(_ number: Int32) throws(Failure) {
    if state.pointee.owners.count <= Int(number) { try Poller.demandOpen(number) }
    while state.pointee.owners.count <= Int(number) {
      guard state.pointee.owners.append(0) else { throw Failure.noMemory("descriptor") }
    }
  }

  /// Whether a registration still watches its number's present file: not if the number was closed (and
  /// perhaps used again) meanwhile.
  @_optimize(size)
  func isStanding(_ member: Item) -> Bool {
    let events = UInt32(member.descriptor.pointee.events)
    let number = member.descriptor.pointee.number
    // If another source watches the number by now, what the kernel has for it is that one's.
    if state.pointee.owners[Int(number)] != member.slot { return false }
    if events == 0 || isAlwaysReady(member.slot) { return treadle_system_is_open(number) == 0 }
    let result = treadle_system_epoll_control(
      state.pointee.epoll, 3, number, Readiness.toKernel(events), Mention(member).bits)
    return result == 0
  }

  private func countAlwaysReady() {
    state.pointee.alwaysReadyCount.store(state.pointee.alwaysReady.count, ordering: .releasing)
  }

  @_optimize(size)
  private func isAlwaysReady(_ slot: UInt32) -> Bool {
    for bits in state.pointee.alwaysReady.elements where Mention(bits: bits).slot == slot { return true }
    return false
  }

  /// False if it was not among them.
  @inline(never)
  @_optimize(size)
  @discardableResult
  private func forgetAlwaysReady(_ slot: UInt32) -> Bool {
    let before = state.pointee.alwaysReady.count
    var kept = 0
    for bits in state.pointee.alwaysReady.elements where Mention(bits: bits).slot != slot {
      state.pointee.alwaysReady.set(kept, bits)
      kept &+= 1
    }
    state.pointee.alwaysReady.truncate(kept)
    countAlwaysReady()
    return kept != before
  }

  /// A closed number whose file lives on elsewhere keeps reporting, and cannot be taken out any more: the
  /// set is made anew without it. False when that fails. The loop's lock is held.
  @_optimize(size)
  func rebuild(wake: Int32, members: MemberList) -> Bool {
    guard let epoll = try? Poller.makeSet(wake) else { return false }
    var next = members.first
    while let member = Item(.descriptor, slot: next) {
      next = member.cell.pointee.next
      let number = member.descriptor.pointee.number
      guard isStanding(member), !isAlwaysReady(member.slot) else {
        continue
      }
      let events = Readiness.toKernel(UInt32(member.descriptor.pointee.events))
      if events != 0 && treadle_system_epoll_control(epoll, 1, number, events, Mention(member).bits) < 0 {
        treadle_system_close(epoll)
        return false
      }
    }
    treadle_system_close(state.pointee.epoll)
    state.pointee.epoll = epoll
    state.pointee.interrupt = -1
    state.pointee.mayStray.store(false, ordering: .releasing)
    return true
  }

  // MARK: Interrupts: the owner's

  /// Has the interrupt descriptor reported once more, if it is readable. It reports once for each arming,
  /// so that runs which do not ask for interrupts are not disturbed. False if the kernel refuses.
  @_optimize(size)
  func armInterrupt(_ number: Int32) -> Bool {
    state.pointee.wasInterrupted = false
    if state.pointee.interrupt != number && state.pointee.interrupt >= 0 { takeOut(state.pointee.interrupt) }
    // Added also where it was in the set: its number may have been closed, and used again, since.
    let isArmed =
      number >= 0
      && (state.pointee.interrupt == number && controlInterrupt(3, number) || controlInterrupt(1, number))
    state.pointee.interrupt = isArmed ? number : -1
    return isArmed || number < 0
  }

  /// Takes a number out that was left behind, and perhaps is the interrupt descriptor's now. The loop's lock is held.
  @_optimize(size)
  func takeOutLeftBehind(number: Int32) -> Bool {
    guard state.pointee.owners[Int(number)] == Poller.leftBehind else { return false }
    state.pointee.owners.set(Int(number), 0)
    return takeOut(number)
  }

  private func controlInterrupt(_ operation: Int32, _ number: Int32) -> Bool {
    treadle_system_epoll_control(state.pointee.epoll, operation, number, Poller.oneShotIn, Poller.interruptMention) >= 0
  }

  /// Whether it has reported.
  func takeInterrupt() -> Bool {
    defer { state.pointee.wasInterrupted = false }
    return state.pointee.wasInterrupted
  }

  // MARK: Waiting: the owner's

  /// Whether events were taken from the kernel that no pass has handled yet.
  @inline(__always)
  var hasEvents: Bool { state.pointee.nextEvent < state.pointee.events.count }

  /// Takes events from the kernel, in place of those taken before. Returns their number, or -errno.
  func wait(until: Int64) -> Int32 {
    state.pointee.nextEvent = 0
    var result = 0 &- treadle_system_enomem()
    _ = state.pointee.events.refill(256) { room in
      result = treadle_system_epoll_wait(state.pointee.epoll, room, 256, until)
      var kept = 0
      var index = 0
      while index < Int(result) {
        if room[index].data == Poller.interruptMention {
          state.pointee.wasInterrupted = true
        } else if room[index].data != Poller.wakeMention {
          room[kept] = room[index]
          kept &+= 1
        }
        index &+= 1
      }
      return kept
    }
    return result
  }

  /// How many of the events just taken, that are not the loop's own, mean something else than the caller's; those that do
  /// are kept.
  @inline(__always)
  func dropReports(unless means: (UInt64) -> Bool) -> Int {
    var kept = 0
    for event in state.pointee.events.elements where means(event.data) {
      state.pointee.events.set(kept, event)
      kept &+= 1
    }
    let dropped = state.pointee.events.count &- kept
    state.pointee.events.truncate(kept)
    return dropped
  }

  @inline(__always)
  func takeEvent() -> treadle_system_event? {
    guard let event = state.pointee.events[state.pointee.nextEvent] else { return nil }
    state.pointee.nextEvent &+= 1
    return event
  }

  /// Queues the always ready descriptors behind what the kernel reported. The loop's lock is held.
  @_optimize(size)
  func appendAlwaysReady() {
    for bits in state.pointee.alwaysReady.elements {
      _ = state.pointee.events.append(treadle_system_event(data: bits, events: 0x005, reserved: 0))
    }
  }
}
