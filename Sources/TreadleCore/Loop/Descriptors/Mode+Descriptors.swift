// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Which descriptors a mode watches (SRC1-11). The loop's lock is held, where the text does not say otherwise.
extension Mode {
  /// Any thread, no lock.
  @inline(__always)
  var poller: Poller? { state.poller.load(ordering: .acquiring).map { Poller(address: $0) } }

  func needPoller(_ loop: Loop) throws(Failure) -> Poller {
    assertHeld()
    if let poller { return poller }
    let made = try Poller.make(for: loop)
    state.poller.store(made.address, ordering: .releasing)
    return made
  }

  /// A poller for a mode without descriptors, if the loop has a descriptor that interrupts it. Takes the lock.
  func pollerForInterrupts() -> Poller? {
    guard let loop, loop.state.interruptDescriptor.load(ordering: .acquiring) >= 0 else { return nil }
    loop.lock()
    defer { loop.unlock() }
    return try? needPoller(loop)
  }

  /// The mode is given up, or the thread is gone. Who used it before has held the lock, or is the owner.
  func closePoller() {
    guard let memory = state.poller.exchange(nil, ordering: .relaxed) else { return }
    if let loop { loop.state.lastSerial = max(loop.state.lastSerial, memory.pointee.lastSerial) }
    Poller(address: memory).free()
  }

  // MARK: Memberships

  /// Starts to watch a descriptor through a new membership.
  @inline(__always)
  func watch(_ member: Item, of item: Item, descriptor number: Int32) throws(Failure) {
    assertHeld()
    guard let loop else { return }
    // Before the poller takes numbers of its own: a closed one could become one of these.
    if poller == nil { try Mode.demandOpen(number) }
    let poller = try needPoller(loop)
    if poller.isOwn(number, loop) { throw Failure.unwatchable(-1, 0 &- treadle_system_ebadf()) }
    try reserve(number, poller)
    if let old = poller.state.registrations[Int(number)], old.member != 0 { try replace(old, number, poller) }
    let events = item.watched.events
    if member.watched.number != number { member.watched.number = number }
    // The own cell has them, and others look at them under the item's lock alone.
    if member.tag != item.tag { member.watched.events = events }
    member.watched.strikes = 0
    if events == 0 {
      try Mode.demandOpen(number)
      poller.state.registrations.set(Int(number), Registration(member: member.slot))
    } else {
      try register(member, number, events, poller)
    }
  }

  /// Room up to a number that was not seen before. There is none for one that is not open, which may be any; of the
  /// others, epoll tells.
  @inline(__always)
  private func reserve(_ number: Int32, _ poller: Poller) throws(Failure) {
    if poller.state.registrations.count <= Int(number) { try reserveNow(number, poller) }
  }

  @inline(never)
  private func reserveNow(_ number: Int32, _ poller: Poller) throws(Failure) {
    try Mode.demandOpen(number)
    while poller.state.registrations.count <= Int(number) {
      guard poller.state.registrations.append(Registration()) else { throw Failure.noMemory("descriptor") }
    }
  }

  /// A number that another source watches is refused, unless that one's file was closed, and the number used again.
  @inline(never)
  private func replace(_ old: Registration, _ number: Int32, _ poller: Poller) throws(Failure) {
    if let owner = Item(.descriptor, slot: old.member), isStanding(owner, old, number, poller) {
      throw Failure(Status.exists, "fd", "is watched by another source in this mode")
    }
    if old.serial != 0 { poller.state.mayHaveStale.store(true, ordering: .relaxed) }
    poller.removeAlwaysReady(old)
    poller.state.registrations.set(Int(number), Registration(member: old.member, serial: old.serial))
  }

  private func isStanding(_ owner: Item, _ registration: Registration, _ number: Int32, _ poller: Poller) -> Bool {
    if registration.serial == 0 {
      // It is paused, or always ready; or it was closed, and this was noticed.
      let isWatched = owner.watched.events == 0 || registration.always != 0
      return isWatched && treadle_system_is_open(number) == 0
    }
    return poller.isStanding(
      number, Readiness.toKernel(owner.watched.events), EpollData(number: number, serial: registration.serial))
  }

  /// Puts a number into the set for a membership, as a registration of its own.
  @inline(__always)
  private func register(
    _ member: Item, _ number: Int32, _ events: UInt16, _ poller: Poller, isThere: Bool = false
  ) throws(Failure) {
    // 0 is no serial.
    let serial = max(poller.state.lastSerial &+ 1, 1)
    poller.state.lastSerial = serial
    let result = poller.put(
      number, Readiness.toKernel(events), EpollData(number: number, serial: serial), isThere: isThere)
    var registration = Registration(member: member.slot, serial: serial)
    if result < 0 {
      if result != 0 &- treadle_system_eperm() { throw Failure.unwatchable(number, result) }
      registration.always = try poller.addAlwaysReady(number)
      registration.serial = 0
    }
    poller.state.registrations.set(Int(number), registration)
  }

  /// The membership ends.
  @inline(__always)
  func unwatch(_ member: Item) {
    assertHeld()
    guard let poller else { return }
    let number = member.watched.number
    // A number that was closed and is watched by another source now is let alone.
    guard let registration = poller.state.registrations[Int(number)], registration.member == member.slot else { return }
    withdraw(registration, number, poller)
    poller.state.registrations.set(Int(number), Registration())
  }

  @inline(__always)
  private func withdraw(_ registration: Registration, _ number: Int32, _ poller: Poller) {
    if registration.serial != 0 { poller.takeOut(number) } else { poller.removeAlwaysReady(registration) }
  }

  /// Changes what a membership watches for; 0 pauses it.
  func rewatch(_ member: Item, _ events: UInt16) throws(Failure) {
    assertHeld()
    let before = member.watched.events
    let number = member.watched.number
    if before == events { return }
    guard let loop, let poller, let registration = poller.state.registrations[Int(number)] else {
      member.watched.events = events
      return
    }
    if registration.member != member.slot {
      // The number was closed, and another source watched it after that; or the source is invalid, and `ready` removed
      // it.
      if events != 0 { try takeBack(member, number, events, poller, loop) }
    } else if events == 0 {
      withdraw(registration, number, poller)
      poller.state.registrations.set(Int(number), Registration(member: member.slot))
    } else if registration.serial != 0 {
      // As a registration of its own: the entry of before may stay behind, if the number was closed and used again.
      try register(member, number, events, poller, isThere: true)
    } else if registration.always == 0 {
      try register(member, number, events, poller)
    }
    member.watched.events = events
  }

  @inline(never)
  private func takeBack(_ member: Item, _ number: Int32, _ events: UInt16, _ poller: Poller, _ loop: Loop)
    throws(Failure)
  {
    if !member.primary.isValid { throw Item.invalidDescriptor }
    if poller.isOwn(number, loop) { throw Failure.unwatchable(-1, 0 &- treadle_system_ebadf()) }
    if let other = poller.state.registrations[Int(number)], other.member != 0 { try replace(other, number, poller) }
    try register(member, number, events, poller)
  }

  private static func demandOpen(_ number: Int32) throws(Failure) {
    let result = treadle_system_is_open(number)
    if result < 0 { throw Failure.unwatchable(number, result) }
  }

  // MARK: What was closed

  /// Each membership that has an entry in the kernel's set.
  private func forEachEntry(
    _ poller: Poller, _ body: (_ member: Item, _ kernelEvents: UInt32, _ data: EpollData) -> Void
  ) {
    var next = state.descriptors.first
    while let member = Item(.descriptor, slot: next) {
      next = member.cell.next
      let number = member.watched.number
      guard let registration = poller.state.registrations[Int(number)], registration.member == member.slot,
        registration.serial != 0
      else { continue }
      let data = EpollData(number: number, serial: registration.serial)
      body(member, Readiness.toKernel(member.watched.events), data)
    }
  }

  /// The kernel has nothing to say of it any more.
  private func forget(_ member: Item, _ data: EpollData, _ poller: Poller) {
    poller.state.registrations.set(Int(data.number), Registration(member: member.slot))
  }

  /// Makes the set anew with what still stands. 0, or -errno. Owner.
  @_optimize(size)
  func rebuild(_ poller: Poller, _ loop: Loop) -> Int32 {
    assertHeld()
    // Asked of the old set: the new one would take whatever file a number means by now.
    forEachEntry(poller) { if !poller.isStanding($2.number, $1, $2) { forget($0, $2, poller) } }
    return poller.rebuild(loop) {
      forEachEntry(poller) { if poller.put($2.number, $1, $2) < 0 { forget($0, $2, poller) } }
    }
  }

  /// Whether a membership's number still means what is watched; one whose does not is forgotten. The kernel is asked
  /// each time: to read from another's file would take what is not ours.
  package func demandStanding(_ member: Item) -> Bool {
    let number = member.watched.number
    guard let poller, let registration = poller.state.registrations[Int(number)], registration.member == member.slot
    else { return false }
    if registration.serial == 0 { return registration.always != 0 }
    let data = EpollData(number: number, serial: registration.serial)
    if poller.isStanding(number, Readiness.toKernel(member.watched.events), data) { return true }
    forget(member, data, poller)
    poller.state.mayHaveStale.store(true, ordering: .relaxed)
    return false
  }

  /// For debugging: looks whether every number means the file that is watched, and has the source of one that does not
  /// told, once (SRC1-8). True if there is one. Owner, takes the lock.
  @inline(never)
  func reportClosed(_ poller: Poller) -> Bool {
    guard let loop else { return false }
    loop.lock()
    defer { loop.unlock() }
    forEachEntry(poller) { member, _, data in
      if !demandStanding(member) { poller.report(EpollData(number: data.number, serial: 0), Readiness.kernelInvalid) }
    }
    return poller.hasEvents
  }

  /// Arms a run's interrupt, unless a source of the mode watches that descriptor. Owner, takes the lock.
  func armInterrupt(_ poller: Poller) {
    guard let loop else { return }
    let number = loop.state.interruptDescriptor.load(ordering: .acquiring)
    loop.lock()
    defer { loop.unlock() }
    let isWatched: (Int32) -> Bool = { (poller.state.registrations[Int($0)]?.serial ?? 0) != 0 }
    if isWatched(poller.state.interrupt) { poller.state.interrupt = -1 }
    poller.armInterrupt(isWatched(number) ? -1 : number)
  }
}
