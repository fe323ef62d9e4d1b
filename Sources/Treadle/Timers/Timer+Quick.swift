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

  @inline(__always)
  private static func find(_ handle: Handle) -> Item? {
    guard let memory = Slab(.timer).find(handle) else { return nil }
    return Item(.timer, handle.slot, memory)
  }

  /// The same without a look whether its generation lives, for those who look under the loop's lock.
  @inline(__always)
  static func locate(_ handle: Handle) -> Item? {
    guard let memory = Slab(.timer).locate(handle) else { return nil }
    return Item(.timer, handle.slot, memory)
  }

  // MARK: Being made

  /// A one-shot with nothing but a plain callback, in no mode; 0 if there is none.
  package static func makePlainTimer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64
  ) -> UInt {
    guard Runtime.isStarted,
      let item = Item(.timer, slot: Slab(.timer).allocateInline(own: 0, clients: 1))
    else { return 0 }
    item.begin(code: code, info: info)
    item.beginOutside()
    item.timer.pointee = TimerCell(date: date, sequence: 0, place: TimerQueue.Place.none)
    item.cell.pointee.flags.store(Flag.valid | Flag.once, ordering: .releasing)
    return item.handle.bits
  }

  @inline(__always)
  func begin(code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?) {
    cell.pointee.link.store(UInt(bitPattern: code) | Item.codeMark, ordering: .relaxed)
    cell.pointee.info = info
  }

  /// The same, in the default mode of a loop that is the calling thread's, with so many references of the client's. The
  /// loop's lock is held, and given back.
  package static func makeScheduledTimer(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64, on loop: Loop, clients: UInt64
  ) -> UInt {
    let lock = loop.mutex
    defer { lock.unlockInline() }
    guard let mode = loop.defaultMode, let queue = mode.state.pointee.queue,
      queue.pointee.reserve(tolerant: false),
      let (slot, memory) = loop.state.pointee.timerStock.take(Slab(.timer), own: 1, clients: clients)
    else { return 0 }
    let item = Item(.timer, slot, memory)
    item.begin(code: code, info: info)
    item.timer.pointee.date = date
    item.enterQuickly(mode, queue)
    item.cell.pointee.flags.store(Flag.valid | Flag.once, ordering: .releasing)
    return item.handle.bits
  }

  // MARK: Beginning and ending a membership

  /// Into a mode, by the item's own cell. The loop's lock is held, and there is room.
  @inline(__always)
  private func enterQuickly(_ mode: Mode, _ queue: UnsafeMutablePointer<TimerQueue>) {
    setTimerMode(mode.slot)
    queue.pointee.insertExact(self)
    mode.noteEntry(timer.pointee.date)
  }

  /// Out of a mode. The loop's lock is held; the mode's reference is the caller's to drop.
  @inline(__always)
  func exitQuickly(_ mode: Mode) {
    mode.countContent(-1)
    setTimerMode(0)
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
    guard let item = find(handle) else { return false }
    let flags = item.flags
    guard flags & ~variants == Flag.valid, let (mode, loop) = item.lockOnlyMode(handle) else { return false }
    guard let queue = mode.state.pointee.queue, item.exchangeFlags(flags, flags & ~Flag.valid) else {
      loop.mutex.unlockInline()
      return false
    }
    queue.pointee.remove(item)
    item.exitQuickly(mode)
    loop.mutex.unlockInline()
    if item.context != nil { item.releaseInfoOnce() }
    item.drop()
    return true
  }

  /// Makes a timer invalid, if it is not, and drops a reference of the client's: for a plain one-shot that is in one mode,
  /// with nobody else to refer to it, in one step; and for any that is invalid.
  ///
  /// Whoever may change its flags or its context refers to it meanwhile, and takes the loop's lock before he is done:
  /// so what they are under that lock holds as long as nobody else refers to it.
  package static func discardQuickly(_ timer: UInt) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = locate(handle) else { return false }
    guard let (mode, loop) = item.lockOnlyMode(handle) else { return !item.isValid && releaseQuickly(timer) }
    guard let queue = mode.state.pointee.queue, item.endPlain(handle) else {
      loop.mutex.unlockInline()
      return false
    }
    // Who has found it before takes the lock first, and finds it in no mode then.
    queue.pointee.remove(item)
    item.exitQuickly(mode)
    item.cell.pointee.flags.store(0, ordering: .relaxed)
    loop.state.pointee.timerStock.put(Slab(.timer), item.slot, UnsafeMutableRawPointer(item.cell))
    loop.mutex.unlockInline()
    return true
  }

  /// Whether this was a plain one-shot to which nobody else referred: then it is nobody's from here on. The loop's lock is
  /// held, and whatever else must be true was asked before.
  @inline(__always)
  func endPlain(_ handle: Handle) -> Bool {
    flags == Flag.valid | Flag.once && context == nil && cell.pointee.reference.endLast(generation: handle.generation)
  }

  /// Locks the loop of a timer in one mode. From here on that mode keeps it.
  @inline(__always)
  private func lockOnlyMode(_ handle: Handle) -> (Mode, Loop)? {
    guard let mode, let loop = mode.loop else { return nil }
    loop.mutex.lockInline()
    // The timer, or what its mode's slot means, may have changed meanwhile, or it was not the one meant. What is in a
    // mode lives.
    if isIn(mode) && generation == handle.generation && mode.state.pointee.loop == loop.state { return (mode, loop) }
    loop.mutex.unlockInline()
    return nil
  }

  // MARK: Being moved and released

  /// Sets the date of a timer that is in one mode, and at rest.
  package static func setDateInOneMode(_ timer: UInt, _ date: Int64) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = locate(handle), let (mode, loop) = item.lockOnlyMode(handle) else { return false }
    guard item.canMoveQuickly, let queue = mode.state.pointee.queue else {
      loop.mutex.unlockInline()
      return false
    }
    if !queue.pointee.postpone(item, to: date) {
      queue.pointee.remove(item)
      item.timer.pointee.date = date
      mode.schedule(item, of: item)
    }
    loop.mutex.unlockInline()
    if !loop.isCurrent { loop.interruptSleep() }
    return true
  }

  @inline(__always)
  var canMoveQuickly: Bool {
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
