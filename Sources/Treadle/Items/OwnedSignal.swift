// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Signals without an atomic exchange, for sources that nobody but their loop's owner signals.
///
/// A source is *owned* when the owner of the loop that it is in has given it its signals for a while: `Item.Flag.owned`. Its
/// signal is then the time of the signal in its cell, and 0 if there is none; `Flag.signalled` is not set. The owner alone
/// writes that, with plain stores, in a *window*: it names the source in the hand's `window`, looks whether the source is owned
/// still and nobody has the item's lock, does what it has to, and takes the name back.
///
/// Whoever else wants to change the signal, or whose it is (a signal from another thread, a removal, a second mode), *disowns*
/// the source first. He takes the item's lock, has the loop's clock go on, has the kernel put a fence into the owner's
/// instructions, and waits until `window` does not name the source. Either the owner's look came before that fence: then its
/// store to `window` did too, and is seen, and what was done in the window is seen once the name is gone, for it is taken
/// back by a releasing store. Or the look came after the fence: then it sees the lock, and the clock, and the owner goes the way
/// of all others. So whoever has disowned a source is alone with its signal, and moves it into `Flag.signalled`, where all
/// threads exchange it.
///
/// The clock (`LoopState.clock`) saves most of those looks. It goes on whenever a source of the loop is disowned, and whenever
/// another thread signals one: what was the owner's *as of* some reading of it is so still, and nobody else has signalled
/// anything since, while it shows the same. So a queue of the owner's signals has the reading as of which all in it were owned
/// (`ModeState.ownedAsOf`), and so has the source in hand.
///
/// In the window there is no lock, no client and no call of the kernel. Without such fences no source is ever owned; if the
/// system does not give them any more, none becomes owned again, and who disowns one waits a few milliseconds instead.
///
/// The fence takes both sides up to ten microseconds, a thousand times what an exchange does. So a source becomes owned only
/// after `streak` signals of the owner's in its mode with none of another thread's among them, and so many more for each
/// source that others have disowned there since: what fences cost stays below what the signals between them do.
enum OwnedSignal {
  static let streak: UInt32 = 1024
}

extension Item {
  /// What the flags of an owned source show in a window.
  @inline(__always)
  static var windowMask: UInt32 { Flag.valid | Flag.owned | Flag.locked }

  /// Signals the source of a cell that a client's handle means, with all that may be to do.
  @inline(never)
  static func signalFully(_ cell: UnsafeMutablePointer<ItemCell>, _ handle: Handle, wake: Bool) -> Int32 {
    Item(.source, handle.slot, UnsafeMutableRawPointer(cell)).signal(wake: wake)
  }

  /// False if the caller is not the source's owner, or its queue would have to grow.
  @inline(__always)
  func signalOwned(wake: Bool) -> Bool {
    guard let memory = treadle_system_thread().pointee.loop else { return false }
    let loop = Loop(memory)
    loop.openWindow(Loop.tag(self))
    let flags = cell.pointee.flags.load(ordering: .relaxed)
    var isSignalled = false
    if flags & Item.windowMask == Flag.valid | Flag.owned, let mode, mode.state.pointee.loop == loop.state {
      isSignalled = signalTime != 0
      // Growing the queue is not for a window.
      if !isSignalled && mode.state.pointee.ownSignals.appendInRoom(QueuedSignal(self)) {
        setSignalTime(SignalTime.nextOfOwner(on: loop))
        if flags & Flag.ordered != 0 { mode.state.pointee.ownSignalsAreMixed = true }
        isSignalled = true
      }
    }
    loop.closeWindow()
    if isSignalled && wake { loop.hand.pointee.is_woken = true }
    return isSignalled
  }

  /// The owner has just signalled the source, and queued it: from here on it may be owned.
  @inline(__always)
  func noteOwnSignal(_ mode: Mode, _ loop: Loop, _ old: UInt32) {
    if mode.state.pointee.ownStreak < OwnedSignal.streak {
      mode.state.pointee.ownStreak = mode.state.pointee.ownStreak &+ 1
    } else if treadle_system_has_barrier() {
      own(mode, loop, old)
    }
  }

  /// Under the gate, where another thread that has signalled the source, and was late to queue it, looks whether its signal
  /// stands. If anything but the signal of just now has happened to the source, it stays what it is.
  @inline(never)
  private func own(_ mode: Mode, _ loop: Loop, _ old: UInt32) {
    let debt = mode.state.pointee.disowned.load(ordering: .relaxed)
    if debt != 0 {
      _ = mode.state.pointee.disowned.compareExchange(expected: debt, desired: debt &- 1, ordering: .relaxed)
      mode.state.pointee.ownStreak = 0
      return
    }
    if old & (Flag.locked | Flag.scattered | Flag.alias | Flag.flooded) != 0 { return }
    loop.state.pointee.gate.lock()
    let flags = self.flags
    // Modes are left under the gate, too.
    if isIn(mode) && flags & ~Flag.wakeWanted == (old | Flag.signalled) & ~Flag.wakeWanted {
      _ = exchangeFlags(flags, flags & ~(Flag.signalled | Flag.wakeWanted) | Flag.owned)
    }
    loop.state.pointee.gate.unlock()
  }

  /// Takes back a signal that got no place in a queue. Owner.
  @_optimize(size)
  func forgetSignal(_ loop: Loop) {
    if !hasFlag(Flag.owned) {
      clearFlag(Flag.ofSignal)
      return
    }
    loop.openWindow(Loop.tag(self))
    if flags & Item.windowMask == Flag.valid | Flag.owned { setSignalTime(0) }
    loop.closeWindow()
  }

  /// For those who hold neither the item nor its lock.
  @inline(never)
  func disownForSignal() {
    guard cell.pointee.reference.retain(generation: generation) else { return }
    lock()
    disown()
    unlock()
    drop()
  }

  /// The source's signal is everybody's from here on. The item's lock is held.
  @inline(__always)
  func disown() {
    if hasFlag(Flag.owned) { disownNow() }
  }

  @inline(never)
  private func disownNow() {
    // An owned source is in a mode, and leaves it under the item's lock.
    if let mode, let loop = mode.loop {
      loop.advanceClock()
      if !loop.isCurrent {
        treadle_system_heavy_barrier(false)
        while treadle_system_window(loop.hand) == Loop.tag(self) { treadle_system_yield() }
        mode.state.pointee.disowned.wrappingAdd(1, ordering: .relaxed)
      }
    }
    var old: UInt32
    var new: UInt32
    repeat {
      old = flags
      new = old & ~Flag.owned
      if old & Flag.valid != 0 && signalTime != 0 { new |= Flag.signalled }
    } while !exchangeFlags(old, new)
  }
}

extension Loop {
  /// From here on the signal of the source that a tag names is the owner's, if its flags say so. Owner.
  @inline(__always)
  func openWindow(_ tag: UInt32) {
    treadle_system_open_window(hand, tag)
  }

  /// The owned source that the owner performs, for its signals to itself: those that find it in hand end in `CTreadleSignal`.
  /// That is while the thread's `in_hand` is its handle, which the child of a fork forgets; 0: there is none.
  @inline(__always)
  var hand: UnsafeMutablePointer<treadle_system_hand> {
    (UnsafeMutableRawPointer(state) + Int(TREADLE_SYSTEM_HAND_OFFSET)).assumingMemoryBound(to: treadle_system_hand.self)
  }

  /// The source that the owner performs, while the innermost run's callout says that it is the one in hand. Owner.
  var itemInHand: Item? {
    guard let cell = hand.pointee.cell else { return nil }
    return Item(.source, state.pointee.calling.load(ordering: .relaxed) >> 5, cell)
  }

  @inline(__always)
  func closeWindow() { treadle_system_close_window(hand) }

  /// A reading of the loop's clock: what is found to be the owner's behind it stays so while the clock shows the same.
  @inline(__always)
  var clock: UInt64 { state.pointee.clock.load(ordering: .acquiring) }

  /// Has all that was the owner's as of a reading be looked at again. Any thread, no lock of the loop.
  func advanceClock() {
    state.pointee.gate.lock()
    _ = SignalTime.next(on: self)
    state.pointee.gate.unlock()
  }

  /// No reading of the clock.
  static let never = UInt64.max

  /// Uses up the signal of a source that was owned, and in the mode, as of a reading of the clock, which is the one of the hand.
  /// It is in hand and protected from here on (`Protecting.swift`): who takes it out of the mode disowns it first, and so sees in
  /// `calling` what was written here, or the owner sees that the clock has gone on. False if nothing was used up:
  /// `findOwnedSignal` has to look. Owner.
  @inline(__always)
  func useOwnedSignal(_ signal: QueuedSignal, asOf reading: UInt64) -> Bool {
    let item = signal.item
    openWindow(signal.tag)
    let isUsed = clock == reading && item.signalTime != 0 && protectLightly(signal.tag)
    if isUsed {
      item.setSignalTime(0)
      takeInHand(signal)
      treadle_system_thread().pointee.in_hand = signal.handle.bits
    }
    closeWindow()
    return isUsed
  }

  /// The same for a signal that the owner has given, whatever has become of its source since. False also if the source is not
  /// owned, or not due, somebody has its lock, or something was left to the owner: `take` has to look at the mention. Owner.
  @inline(never)
  func findOwnedSignal(_ signal: QueuedSignal, in mode: Mode) -> Bool {
    let item = signal.item
    openWindow(signal.tag)
    var isUsed = false
    let reading = clock
    let flags = item.flags
    if flags & Item.windowMask == Item.Flag.valid | Item.Flag.owned, item.signalTime != 0,
      signal.mention.means(item, in: mode)
    {
      isUsed = protectLightly(signal.tag)
      if isUsed {
        item.setSignalTime(0)
        takeInHand(signal)
        openHand(asOf: reading, in: mode)
      }
      // One that has an order does not merely go behind the others when it signals itself.
      treadle_system_thread().pointee.in_hand = isUsed && flags & Item.Flag.ordered == 0 ? signal.handle.bits : 0
    }
    closeWindow()
    return isUsed
  }

  @inline(__always)
  private func takeInHand(_ signal: QueuedSignal) {
    hand.pointee.cell = UnsafeMutableRawPointer(signal.cell)
    hand.pointee.place = UInt64(signal.place)
  }

  /// What comes into the hand from here on was the owner's, and in the mode, as of a reading of the clock. Owner.
  @inline(__always)
  func openHand(asOf reading: UInt64, in mode: Mode) {
    treadle_system_thread().pointee.in_hand = 0
    hand.pointee.queue = mode.ownSignals
    hand.pointee.as_of = reading
    noteReading(reading)
  }

  /// The owner's own times go on behind a reading of the clock. Owner.
  @inline(__always)
  private func noteReading(_ reading: UInt64) {
    if reading != Loop.never && hand.pointee.own_time < reading { hand.pointee.own_time = reading }
  }
}

extension Mode {
  /// The queue of the owner's own signals, as `CTreadleSignal` sees it.
  @inline(__always)
  fileprivate var ownSignals: UnsafeMutablePointer<treadle_system_signals> {
    withUnsafeMutablePointer(to: &state.pointee.ownSignals) {
      UnsafeMutableRawPointer($0).assumingMemoryBound(to: treadle_system_signals.self)
    }
  }
}
