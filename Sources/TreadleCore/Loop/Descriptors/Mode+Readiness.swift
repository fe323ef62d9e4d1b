// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Which of a mode's descriptors are ready. Owner, no lock.
extension Mode {
  /// Asks the kernel without blocking, unless events are left from before. More than 0 if a descriptor is ready; or
  /// -errno.
  @inline(__always)
  func pollDescriptors() -> Int32 {
    guard let poller else { return 0 }
    return poller.hasEvents ? 1 : poll(poller)
  }

  @inline(never)
  private func poll(_ poller: Poller) -> Int32 {
    guard let loop else { return 0 }
    loop.state.waiting.store(1, ordering: .releasing)
    let result = waitForDescriptors(poller, until: nil)
    loop.state.waiting.store(0, ordering: .relaxed)
    if result < 0 && result != 0 &- treadle_system_eintr() { return result }
    return poller.hasEvents ? 1 : 0
  }

  /// The loop's one kernel wait: until a date, or without one not at all. Returns the number of events, or -errno.
  func waitForDescriptors(_ poller: Poller, until date: Int64?) -> Int32 {
    guard let loop else { return 0 }
    if loop.hasLookouts { loop.handOverLookouts(but: date == nil ? self : nil) }
    let hasAlwaysReady = poller.state.alwaysReadyCount.load(ordering: .relaxed) > 0
    let mayHaveStale = poller.state.mayHaveStale.load(ordering: .relaxed)
    var result = poller.wait(loop, until: hasAlwaysReady ? nil : date)
    if mayHaveStale && result > 0 { result = dropStale(poller, result) }
    if poller.state.clockWasSet { loop.noteClock(poller) }
    if hasAlwaysReady { appendAlwaysReady(poller) }
    if loop.hasLookouts { loop.appendNews(self, poller) }
    return result
  }

  /// If anything just reported is of an entry that nobody has registered, or has paused, that entry is stale: as much
  /// as a wake-up of it is one too many. One that another thread took out a moment ago is not told from it, and costs
  /// as much, but once.
  @inline(never)
  private func dropStale(_ poller: Poller, _ result: Int32) -> Int32 {
    guard let loop else { return result }
    loop.lock()
    defer { loop.unlock() }
    for event in poller.state.events.elements {
      let data = EpollData(bits: event.data)
      if poller.state.registrations[Int(data.number)]?.serial == data.serial { continue }
      let failure = rebuild(poller, loop)
      // What was reported with it is asked for again: this may be all that a run looks.
      return failure < 0 ? failure : poller.wait(loop, until: nil)
    }
    return result
  }

  /// Behind what the kernel reported.
  private func appendAlwaysReady(_ poller: Poller) {
    loop?.lock()
    for number in poller.state.alwaysReady.elements {
      poller.report(EpollData(number: Int32(bitPattern: number), serial: 0), Readiness.kernelAlways)
    }
    loop?.unlock()
  }

  /// The next ready descriptor source, which is called from here on (`Calling.swift`), and what it is ready for.
  /// Reports about registrations that are over are skipped.
  @inline(__always)
  func takeReady() -> (item: Item, events: UInt32)? {
    guard let poller, let loop else { return nil }
    while let event = poller.takeEvent() {
      loop.lock()
      let found = ready(event, poller, loop)
      loop.unlock()
      if let found { return found }
    }
    return nil
  }

  /// The lock is held.
  @inline(__always)
  private func ready(_ event: treadle_system_event, _ poller: Poller, _ loop: Loop) -> (Item, UInt32)? {
    assertHeld()
    let data = EpollData(bits: event.data)
    guard let registration = poller.state.registrations[Int(data.number)], registration.serial == data.serial,
      let member = Item(.descriptor, slot: registration.member)
    else { return nil }
    let item = member.primary
    let watched = member.watched.events
    if !item.isValid {
      // The thread that ends it has not come to this membership yet. The loop must not turn for it until then.
      unwatch(member)
      return nil
    }
    // Without a serial it is one that is always ready, unless that was paused.
    if watched == 0 { return nil }
    loop.beginCalling(item)
    member.watched.strikes &+= 1
    var events = Readiness.fromKernel(event.events, watched: UInt32(watched))
    // One that reports again and again may have been closed without being removed, while its file lives on: then its
    // entry is stale, and the source is told once.
    if member.watched.strikes % 64 == 0 && !demandStanding(member) { events |= Readiness.failed }
    return (item, events)
  }
}
