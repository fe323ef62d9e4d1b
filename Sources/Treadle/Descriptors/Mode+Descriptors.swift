// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The descriptors of a mode, as the rest of the core sees them. The caller holds the loop's lock, where
/// the text does not say otherwise.
extension Mode {
  /// Any thread, no lock.
  @inline(__always)
  var poller: Poller? { state.pointee.poller.load(ordering: .acquiring).map { Poller(state: $0) } }

  /// Starts to watch a descriptor through a new membership.
  func watch(_ member: Item, of item: Item, descriptor number: Int32) throws(Failure) {
    guard let loop else { return }
    // Before the poller takes numbers of its own: a closed one could become one of these.
    if poller == nil { try Poller.demandOpen(number) }
    let poller = try needPoller(loop)
    member.descriptor.pointee = DescriptorCell(number: number, events: item.descriptor.pointee.events, strikes: 0)
    if item.mode == nil { item.descriptor.pointee.number = number }
    // The kernel reports the membership as it will be once it is entered.
    try poller.add(
      member, mention: Mention(member, as: member.nextMembership(in: slot)).bits,
      wake: loop.state.pointee.wakeDescriptor.load(ordering: .acquiring))
  }

  private func needPoller(_ loop: Loop) throws(Failure) -> Poller {
    if let poller { return poller }
    let made = try Poller.make(for: loop)
    state.pointee.poller.store(made.state, ordering: .sequentiallyConsistent)
    noteRevision()
    return made
  }

  /// A poller for a mode without descriptors, if the loop has a descriptor that interrupts it. Takes the
  /// lock.
  func pollerForInterrupts() -> Poller? {
    guard let loop, loop.state.pointee.interruptDescriptor.load(ordering: .acquiring) >= 0 else { return nil }
    loop.mutex.lock()
    defer { loop.mutex.unlock() }
    return try? needPoller(loop)
  }

  func unwatch(_ member: Item, of item: Item) {
    poller?.remove(member, isOver: !item.isValid && loop?.isCurrent == true)
  }

  func rewatch(_ member: Item, from old: UInt16, to events: UInt16) throws(Failure) {
    try poller?.change(member, mention: Mention(member).bits, from: old, to: events)
    member.descriptor.pointee.events = events
  }

  /// Asks the kernel without blocking, unless events are left from before. True if a descriptor is ready.
  /// Owner, no lock.
  @inline(__always)
  func pollDescriptors() -> Bool {
    guard let poller else { return false }
    if poller.hasEvents { return true }
    return poll(poller, until: 0)
  }

  @inline(never)
  private func poll(_ poller: Poller, until: Int64) -> Bool {
    guard let loop else { return false }
    loop.state.pointee.waiting.store(1, ordering: .releasing)
    _ = waitForDescriptors(poller, until: until)
    loop.state.pointee.waiting.store(0, ordering: .releasing)
    return poller.hasEvents
  }

  /// The loop's one kernel wait. Returns the number of events, or -errno. Owner, no lock.
  func waitForDescriptors(_ poller: Poller, until: Int64) -> Int32 {
    let hasAlwaysReady = poller.state.pointee.alwaysReadyCount.load(ordering: .acquiring) > 0
    let mayStray = poller.state.pointee.mayStray.load(ordering: .acquiring)
    let result = poller.wait(until: hasAlwaysReady ? 0 : until)
    if mayStray && reportsStray(poller) { dropStrays(poller) }
    if hasAlwaysReady {
      loop?.mutex.lock()
      poller.appendAlwaysReady()
      loop?.mutex.unlock()
    }
    return result
  }

  /// Whether one of the reports just taken may be about what nobody watches. What the lock guards is not looked at: only a yes
  /// counts, and has to be confirmed.
  @inline(__always)
  private func reportsStray(_ poller: Poller) -> Bool {
    for event in poller.state.pointee.events.elements where Mention(bits: event.data).cell(.descriptor, in: self) == nil {
      return true
    }
    return false
  }

  /// What nobody watches is taken out before anything comes of its reports: nobody shall be woken by them. One that another
  /// thread took out a moment ago is not told from it, and costs as much, but once.
  @inline(never)
  @_optimize(size)
  private func dropStrays(_ poller: Poller) {
    guard let loop else { return }
    loop.mutex.lock()
    defer { loop.mutex.unlock() }
    let dropped = poller.dropReports { Mention(bits: $0).cell(.descriptor, in: self) != nil }
    if dropped != 0 && !poller.takeOutLeftBehind(dropped) { _ = rebuild(poller, loop) }
  }

  /// Arms a run's interrupt, which may have the number of a descriptor that was left behind. Owner, no lock.
  func armInterrupt(_ poller: Poller, _ number: Int32) {
    if poller.armInterrupt(number) { return }
    loop?.mutex.lock()
    let wasLeft = poller.takeOutLeftBehind(number: number)
    loop?.mutex.unlock()
    if wasLeft { _ = poller.armInterrupt(number) }
  }

  /// The next ready descriptor source, with one reference held, and what it is ready for. Reports about
  /// memberships that are over are skipped. Owner.
  func takeReady() -> (item: Item, events: UInt32)? {
    guard let poller, let loop else { return nil }
    while let event = poller.takeEvent() {
      let mention = Mention(bits: event.data)
      // A membership ends under the lock: until it is open again, the cell is what it seems to be.
      loop.mutex.lockInline()
      guard let member = mention.cell(.descriptor, in: self) else {
        // A report from before it was taken out.
        loop.mutex.unlockInline()
        continue
      }
      let item = member.primary
      let watched = UInt32(member.descriptor.pointee.events)
      let isWanted = item.isValid && watched != 0 && item.cell.pointee.reference.retain(generation: item.generation)
      if isWanted { member.descriptor.pointee.strikes &+= 1 }
      let isGone = isWanted && member.descriptor.pointee.strikes % 64 == 0 && isGone(member, poller, loop)
      loop.mutex.unlockInline()
      if !isWanted { continue }
      var events = Readiness.fromKernel(event.events, watched: watched)
      if isGone { events |= Readiness.failed }
      return (item, events & (watched | Readiness.hangup | Readiness.failed))
    }
    return nil
  }

  /// A descriptor that reports again and again may have been closed without being removed, while its file
  /// lives on elsewhere: then it is taken out of the set. The loop's lock is held.
  private func isGone(_ member: Item, _ poller: Poller, _ loop: Loop) -> Bool {
    !poller.isStanding(member) && rebuild(poller, loop)
  }

  /// The set anew, with what still stands. The loop's lock is held.
  private func rebuild(_ poller: Poller, _ loop: Loop) -> Bool {
    let wake = loop.state.pointee.wakeDescriptor.load(ordering: .acquiring)
    return poller.rebuild(wake: wake, members: state.pointee.descriptors)
  }

  /// The thread is gone.
  func closePoller() {
    guard let memory = state.pointee.poller.exchange(nil, ordering: .sequentiallyConsistent) else { return }
    Poller(state: memory).free()
  }
}

extension Item {
  /// Reads the counter of an eventfd or timerfd that the client gave into our hands (SRC1-2). False when
  /// there was nothing to read: somebody else has read it.
  func acknowledge(_ mode: Mode) -> Bool {
    let number = descriptorNumber(in: mode)
    return number >= 0 && treadle_system_read8(number) >= 0
  }

  /// What is watched in a mode; -1 when the source has left it. Takes the item's lock.
  func descriptorNumber(in mode: Mode) -> Int32 {
    lock()
    defer { unlock() }
    return member(of: mode)?.descriptor.pointee.number ?? -1
  }
}
