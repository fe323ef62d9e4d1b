// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The descriptors of one mode: a level-triggered epoll set. The loop's wake descriptor and its timer are in every set,
/// edge-triggered, and never read.
///
/// A source that ends, leaves or is paused leaves the set in the same call. Where the kernel refuses that, the number
/// was closed before; then a stale entry may stay behind, if a copy of the descriptor keeps its file open. Should that
/// report, the set is made anew (`rebuild`).
struct Poller {
  let address: UnsafeMutablePointer<PollerState>
  /// What the handle leads to.
  @inline(__always)
  var state: PollerState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  private static let readable: UInt32 = 1
  private static let oneShotIn: UInt32 = 0x4000_0001
  private static let edgeTriggeredIn: UInt32 = 0x8000_0001
  // epoll_ctl's operations.
  private static let add: Int32 = 1
  private static let delete: Int32 = 2
  private static let modify: Int32 = 3

  // MARK: Its life; the loop's lock is held

  static func make(for loop: Loop) throws(Failure) -> Poller {
    try needOwnDescriptors(loop)
    let epoll = treadle_system_epoll_create()
    if epoll < 0 { throw Failure.system("epoll_create1", epoll) }
    guard let memory = treadle_system_allocate(MemoryLayout<PollerState>.size) else {
      _ = treadle_system_close(epoll)
      throw Failure.noMemory("descriptor")
    }
    let poller = Poller(address: memory.bindMemory(to: PollerState.self, capacity: 1))
    poller.address.initialize(to: PollerState(epoll: epoll))
    // What is known of a mode that was given up is of none that comes after it in its slot.
    poller.state.lastSerial = loop.state.lastSerial
    let result = poller.putOwn(of: loop)
    if result < 0 {
      poller.free()
      throw Failure.system("epoll_ctl", result)
    }
    return poller
  }

  private static func needOwnDescriptors(_ loop: Loop) throws(Failure) {
    if loop.state.wakeDescriptor.load(ordering: .relaxed) >= 0 { return }
    let wake = treadle_system_eventfd()
    if wake < 0 { throw Failure.system("eventfd", wake) }
    let timer = treadle_system_timerfd()
    if timer < 0 && !treadle_system_is_refused(timer) {
      _ = treadle_system_close(wake)
      throw Failure.system("timerfd_create", timer)
    }
    // The owner finds them behind the poller that has them, others behind a sleep of his in that one.
    loop.state.timerDescriptor.store(max(timer, -1), ordering: .relaxed)
    loop.state.wakeDescriptor.store(wake, ordering: .relaxed)
  }

  private func putOwn(of loop: Loop) -> Int32 {
    let result = control(
      Poller.add, loop.state.wakeDescriptor.load(ordering: .relaxed), Poller.edgeTriggeredIn, EpollData.wake)
    let timer = loop.state.timerDescriptor.load(ordering: .relaxed)
    if result < 0 { return result }
    if state.clock >= 0 { _ = control(Poller.add, state.clock, Poller.edgeTriggeredIn, EpollData.clock) }
    return timer < 0 ? result : control(Poller.add, timer, Poller.edgeTriggeredIn, EpollData.timer)
  }

  /// Has the kernel tell when the wall clock is set. 0, or -errno.
  func watchClock() -> Int32 {
    let clock = treadle_system_clock_watch()
    if clock < 0 { return clock }
    let result = control(Poller.add, clock, Poller.edgeTriggeredIn, EpollData.clock)
    if result < 0 { _ = treadle_system_close(clock) } else { state.clock = clock }
    return result
  }

  func free() {
    _ = treadle_system_close(state.epoll)
    if state.clock >= 0 { _ = treadle_system_close(state.clock) }
    if state.pollable >= 0 { _ = treadle_system_close(state.pollable) }
    state.registrations.free()
    state.alwaysReady.free()
    state.events.free()
    treadle_system_free(address)
  }

  /// Whether a number is one of the loop's own: a client's that was closed may have become one.
  func isOwn(_ number: Int32, _ loop: Loop) -> Bool {
    number == state.epoll || number == state.clock || number == state.pollable
      || number == loop.state.timerDescriptor.load(ordering: .relaxed)
      || number == loop.state.wakeDescriptor.load(ordering: .relaxed)
  }

  // MARK: The kernel's set; the loop's lock is held

  @inline(__always)
  private func control(_ operation: Int32, _ number: Int32, _ events: UInt32, _ data: EpollData) -> Int32 {
    treadle_system_epoll_control(state.epoll, operation, number, events, data.bits)
  }

  /// The one way into the set, whatever the kernel has for the number: a new entry, or one that is there still, because
  /// the number means the same file as when that was made, and which is taken over. One that was there for another file
  /// may be left behind. 0, or -errno.
  @inline(__always)
  func put(_ number: Int32, _ kernelEvents: UInt32, _ data: EpollData, isThere: Bool = false) -> Int32 {
    let result = control(isThere ? Poller.modify : Poller.add, number, kernelEvents, data)
    let other = isThere ? 0 &- treadle_system_enoent() : 0 &- treadle_system_eexist()
    if result != other { return result }
    if isThere { state.mayHaveStale.store(true, ordering: .relaxed) }
    return control(isThere ? Poller.add : Poller.modify, number, kernelEvents, data)
  }

  /// Out of the set. If the kernel knows of no such entry, the number was closed since it was put in.
  @inline(__always)
  func takeOut(_ number: Int32) {
    if control(Poller.delete, number, 0, EpollData(bits: 0)) < 0 {
      state.mayHaveStale.store(true, ordering: .relaxed)
    }
  }

  /// Whether an entry still watches its number's present file: not if the number was closed, and perhaps used again.
  func isStanding(_ number: Int32, _ kernelEvents: UInt32, _ data: EpollData) -> Bool {
    control(Poller.modify, number, kernelEvents, data) == 0
  }

  /// The set anew, with what still stands: the one way to be rid of a stale entry. Owner. What the kernel reported
  /// before is forgotten; it reports it again. 0, or -errno: then the set is as it was.
  func rebuild(_ loop: Loop, putAll: () -> Void) -> Int32 {
    loop.assertOwner()
    let old = state.epoll
    let new = treadle_system_epoll_create()
    if new < 0 { return new }
    state.epoll = new
    var result = putOwn(of: loop)
    if result == 0 { result = showPollable() }
    if result < 0 {
      state.epoll = old
      _ = treadle_system_close(new)
      return result
    }
    _ = treadle_system_close(old)
    state.interrupt = -1
    state.mayHaveStale.store(false, ordering: .relaxed)
    forgetEvents()
    putAll()
    return 0
  }

  /// A descriptor that is readable whenever this set has something. 0, or -errno.
  func needPollable() -> Int32 {
    if state.pollable >= 0 { return 0 }
    let pollable = treadle_system_epoll_create()
    if pollable < 0 { return pollable }
    state.pollable = pollable
    let result = showPollable()
    if result < 0 {
      _ = treadle_system_close(pollable)
      state.pollable = -1
    }
    return result
  }

  private func showPollable() -> Int32 {
    let pollable = state.pollable
    return pollable < 0 ? 0 : treadle_system_epoll_control(pollable, Poller.add, state.epoll, Poller.readable, 0)
  }

  // MARK: Always ready; the loop's lock is held

  /// The place of a new number behind the others, as a registration says it.
  func addAlwaysReady(_ number: Int32) throws(Failure) -> UInt32 {
    guard state.alwaysReady.append(UInt32(bitPattern: number)) else { throw Failure.noMemory("descriptor") }
    let count = state.alwaysReady.count
    state.alwaysReadyCount.store(count, ordering: .relaxed)
    return UInt32(truncatingIfNeeded: count)
  }

  /// The last one moves to its place.
  func removeAlwaysReady(_ registration: Registration) {
    let count = state.alwaysReady.count
    guard registration.always != 0, let last = state.alwaysReady[count &- 1] else { return }
    state.alwaysReady.set(Int(registration.always) &- 1, last)
    state.alwaysReady.truncate(count &- 1)
    state.alwaysReadyCount.store(count &- 1, ordering: .relaxed)
    if var moved = state.registrations[Int(last)] {
      moved.always = registration.always
      state.registrations.set(Int(last), moved)
    }
  }

  // MARK: Interrupts: the owner's

  /// Has the interrupt descriptor reported once more, if it is readable. It reports once for each arming, so that runs
  /// which do not ask for interrupts are not disturbed.
  func armInterrupt(_ number: Int32) {
    state.wasInterrupted = false
    if state.interrupt != number && state.interrupt >= 0 {
      _ = control(Poller.delete, state.interrupt, 0, EpollData.interrupt)
    }
    // A number that was closed, and used again, since it was put in is another one.
    let isThere = state.interrupt == number
    let isArmed = number >= 0 && put(number, Poller.oneShotIn, EpollData.interrupt, isThere: isThere) == 0
    state.interrupt = isArmed ? number : -1
  }

  /// Whether it has reported.
  func takeInterrupt() -> Bool {
    defer { state.wasInterrupted = false }
    return state.wasInterrupted
  }

  // MARK: Waiting: the owner's

  /// Whether events were taken from the kernel that no pass has handled yet.
  @inline(__always)
  var hasEvents: Bool { state.nextEvent < state.events.count }

  func forgetEvents() { state.nextEvent = state.events.count }

  /// All have been handled: room for others.
  func removeTakenEvents() {
    if hasEvents { return }
    state.events.removeAll()
    state.nextEvent = 0
  }

  /// Behind what the kernel reported. What there is no memory for is lost.
  func report(_ data: EpollData, _ events: UInt32) {
    _ = state.events.append(treadle_system_event(data: data.bits, events: events, reserved: 0))
  }

  /// Takes events from the kernel, in place of those taken before; with a date waits for one until then. Returns their
  /// number with those of the loop's own, or -errno.
  func wait(_ loop: Loop, until date: Int64?) -> Int32 {
    assert(date == nil || LockOrder.isClear, "a waiter holds no lock")
    state.nextEvent = 0
    var limit: Int32 = date == nil ? 0 : -1
    if let date {
      let result = loop.setTimer(date)
      if result < 0 {
        if !treadle_system_is_refused(result) { return result }
        limit = Clock.milliseconds(until: date)
      }
    }
    var result = 0 &- treadle_system_enomem()
    _ = state.events.refill(256) { room in
      result = treadle_system_epoll_wait(state.epoll, room, 256, limit)
      var kept = 0
      var index = 0
      while index < Int(result) {
        let data = EpollData(bits: room[index].data)
        if data.isOfClient {
          room[kept] = room[index]
          kept &+= 1
        } else if data.bits == EpollData.interrupt.bits {
          state.wasInterrupted = true
        } else if data.bits == EpollData.clock.bits {
          state.clockWasSet = true
        } else if data.bits == EpollData.timer.bits {
          // It has gone off, or is set again for no reason.
          loop.state.timerDate = Clock.forever
        }
        index &+= 1
      }
      return kept
    }
    return result
  }

  @inline(__always)
  func takeEvent() -> treadle_system_event? {
    guard let event = state.events[state.nextEvent] else { return nil }
    state.nextEvent &+= 1
    return event
  }
}

extension Loop {
  /// Sets the kernel's timer, unless it is: one set ahead of the date stays, which costs a wake-up that is slept
  /// through at most. 0, or -errno. Owner.
  @inline(__always)
  func setTimer(_ date: Int64) -> Int32 {
    state.timerDate <= date ? 0 : setTimerNow(date)
  }

  @inline(never)
  private func setTimerNow(_ date: Int64) -> Int32 {
    let timer = state.timerDescriptor.load(ordering: .relaxed)
    let result = timer < 0 ? 0 &- treadle_system_enosys() : treadle_system_timerfd_set(timer, date)
    if result == 0 { state.timerDate = date }
    return result
  }
}
