// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The quick ways of timers, for what almost all are: at rest, in one mode at most, exact. Each does the whole of a
/// client's call in one go and looks at everything once. It either does it, or does nothing and says so: then the
/// general way does it, and finds what is wrong with the arguments.
///
/// They spare the item's lock and hold where the loop's lock has to be taken anyway. A membership that is a timer's
/// only one may end under the loop's lock alone, if the flags tell, in the step that makes the timer invalid, that
/// nobody has the item's lock; who takes that later finds the timer invalid, and looks again under the loop's lock
/// whether the membership stands. And as long as the loop's lock is held, the mode's reference keeps the timer.
extension Item {
  /// What a timer of the quick ways may be besides valid.
  private static let variants = Flag.once | Flag.indirect

  /// Replaces the flags, if they are as expected.
  @inline(__always)
  func exchangeFlags(_ expected: UInt32, _ desired: UInt32) -> Bool {
    cell.pointee.flags.compareExchange(
      expected: expected, desired: desired, ordering: .sequentiallyConsistent
    ).exchanged
  }

  @inline(__always)
  private static func find(_ handle: Handle) -> Item? {
    guard let memory = Slab(.timer).find(handle) else { return nil }
    return Item(.timer, handle.slot, memory)
  }

  // MARK: Being made

  /// A one-shot with nothing but a plain callback, in no mode; 0 if there is none.
  package static func makePlainTimer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64
  ) -> UInt {
    guard Runtime.isStarted, let item = allocatePlain(own: 0, clients: 1) else { return 0 }
    item.begin(code: code, info: info, date: date)
    return item.handle.bits
  }

  @inline(__always)
  private static func allocatePlain(own: UInt64, clients: UInt64) -> Item? {
    Item(.timer, slot: Slab(.timer).allocateInline(own: own, clients: clients))
  }

  @inline(__always)
  private func begin(code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64) {
    cell.pointee.previous = 0
    cell.pointee.next = 0
    cell.pointee.link.store(UInt(bitPattern: code) | Item.codeMark, ordering: .relaxed)
    cell.pointee.info = info
    cell.pointee.mode.store(cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask, ordering: .relaxed)
    timer.pointee = TimerCell(date: date, sequence: 0, place: TimerQueue.Place.none)
    cell.pointee.flags.store(Flag.valid | Flag.once, ordering: .releasing)
  }

  /// The same, in the default mode of a loop that is the calling thread's. It is released already where the client
  /// wants no handle.
  package static func makeScheduledTimer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64, on loop: Loop, isReleased: Bool
  ) -> UInt {
    guard loop.isAlive, let mode = loop.defaultMode, let queue = mode.state.pointee.queue else { return 0 }
    // Locked first: then what is written to memory that is not at hand yet has time until somebody locks again.
    let lock = loop.mutex
    lock.lockInline()
    var handle: UInt = 0
    if queue.pointee.reserve(tolerant: false), let item = allocatePlain(own: 1, clients: isReleased ? 0 : 1) {
      item.begin(code: code, info: info, date: date)
      item.enterQuickly(mode, queue)
      handle = item.handle.bits
    }
    lock.unlockInline()
    return handle
  }

  // MARK: Beginning and ending a membership

  /// Into a mode, by the item's own cell. The loop's lock is held, and there is room.
  @inline(__always)
  private func enterQuickly(_ mode: Mode, _ queue: UnsafeMutablePointer<TimerQueue>) {
    let serial = cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask
    cell.pointee.mode.store((serial &+ 0x100_0000) | mode.slot, ordering: .releasing)
    queue.pointee.insertExact(self)
    mode.noteDate(timer.pointee.date)
    mode.state.pointee.isUnlisted = false
    mode.countContent(1)
  }

  /// Out of a mode. The loop's lock is held; the mode's reference is the caller's to drop.
  @inline(__always)
  func exitQuickly(_ mode: Mode) {
    mode.countContent(-1)
    let serial = cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask
    cell.pointee.mode.store(serial &+ 0x100_0000, ordering: .releasing)
  }

  /// Adds a timer that is in no mode to the default mode of the calling thread's own loop.
  package static func addToOwnLoop(_ timer: UInt, _ loopHandle: UInt, _ name: UnsafePointer<CChar>) -> Bool {
    let handle = Handle(bits: timer)
    guard let loop = Loop.existing, loop.handle.bits == loopHandle, loop.isAlive,
      let mode = loop.defaultMode(ModeName(name)), let queue = mode.state.pointee.queue,
      let item = find(handle)
    else { return false }
    let flags = item.flags
    guard flags & ~variants == Flag.valid,
      // Held from here on, and for the mode in the end.
      item.cell.pointee.reference.retain(generation: handle.generation)
    else { return false }
    // The item's lock, unless something has changed. It stands before the loop's.
    guard item.exchangeFlags(flags, flags | Flag.locked) else {
      item.drop()
      return false
    }
    let lock = loop.mutex
    lock.lockInline()
    let canEnter =
      item.cell.pointee.mode.load(ordering: .relaxed) & Mention.slotMask == 0 && queue.pointee.reserve(tolerant: false)
    if canEnter { item.enterQuickly(mode, queue) }
    lock.unlockInline()
    item.unlock()
    if !canEnter { item.drop() }
    return canEnter
  }

  /// Makes a timer that is in one mode invalid.
  package static func invalidateInOneMode(_ timer: UInt) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = find(handle), item.leaveOnlyMode(handle) else { return false }
    item.drop()
    return true
  }

  /// The same, or finds it invalid, and drops a reference of the client's. False also if the client owns none; the timer
  /// is invalid then.
  package static func discardQuickly(_ timer: UInt) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = find(handle) else { return false }
    guard item.leaveOnlyMode(handle) else { return !item.isValid && releaseQuickly(timer) }
    switch item.cell.pointee.reference.releaseWithClient(generation: handle.generation) {
    case .stale:
      item.drop()
      return false
    case .notLast: item.announceIfAwaited()
    case .last: item.destroyTimer()
    }
    return true
  }

  /// Makes a timer that is in one mode invalid, and takes it out. The mode's reference is the caller's then. False, with
  /// nothing done, if that is not the timer's state.
  @inline(__always)
  private func leaveOnlyMode(_ handle: Handle) -> Bool {
    let flags = self.flags
    guard flags & ~Item.variants == Flag.valid, let (mode, lock) = lockOnlyMode(handle) else { return false }
    guard let queue = mode.state.pointee.queue, exchangeFlags(flags, flags & ~Flag.valid) else {
      lock.unlockInline()
      return false
    }
    queue.pointee.remove(self)
    exitQuickly(mode)
    lock.unlockInline()
    if context != nil { releaseInfoOnce() }
    return true
  }

  /// Locks the loop of a timer in one mode. From here on that mode keeps it.
  @inline(__always)
  private func lockOnlyMode(_ handle: Handle) -> (Mode, LoopLock)? {
    guard let mode, let loop = mode.loop else { return nil }
    let lock = loop.mutex
    lock.lockInline()
    // The timer, or what its mode's slot means, may have changed meanwhile.
    if isIn(mode) && generation == handle.generation && mode.state.pointee.loop == loop.state { return (mode, lock) }
    lock.unlockInline()
    return nil
  }

  // MARK: Being moved and released

  /// Sets the date of a timer that is in one mode, and at rest.
  package static func setDateInOneMode(_ timer: UInt, _ date: Int64) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = find(handle), item.canMoveQuickly, let (mode, lock) = item.lockOnlyMode(handle) else {
      return false
    }
    guard item.canMoveQuickly, let queue = mode.state.pointee.queue else {
      lock.unlockInline()
      return false
    }
    if !queue.pointee.postpone(item, to: date) {
      queue.pointee.remove(item)
      item.timer.pointee.date = date
      mode.schedule(item, of: item)
    }
    let loop = mode.loop
    lock.unlockInline()
    if let loop, !loop.isCurrent { loop.interruptSleep() }
    return true
  }

  @inline(__always)
  private var canMoveQuickly: Bool {
    flags & (Flag.valid | Flag.alias | Flag.aliased | Flag.running) == Flag.valid
  }

  /// Drops a reference of the client's.
  package static func releaseQuickly(_ timer: UInt) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = find(handle), !item.hasFlag(Flag.alias) else { return false }
    switch item.cell.pointee.reference.releaseForClient(generation: handle.generation) {
    case .stale: return false
    case .notLast: return true
    case .last:
      item.destroyTimer()
      return true
    }
  }

  /// Nobody refers to it any more.
  @inline(__always)
  func destroyTimer() {
    if context != nil || isValid {
      destroy()
    } else {
      Slab(.timer).freeInline(slot, UnsafeMutableRawPointer(cell))
    }
  }
}
