// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Signals without an atomic exchange, for sources that nobody but their loop's owner signals.
///
/// A source is *owned* when the owner of the loop that it is in has given it its signals for a while: `Item.Flag.owned`. Its
/// signal is then the time of the signal in its cell, and 0 if there is none; `Flag.signalled` is not set. The owner alone
/// writes that, with plain stores, in a *window*: it names the source in `LoopState.touching`, looks whether the source is owned
/// still and nobody has the item's lock, does what it has to, and takes the name back.
///
/// Whoever else wants to change the signal, or whose it is (a signal from another thread, a removal, a second mode), *disowns*
/// the source first. He takes the item's lock, has the kernel put a fence into the owner's instructions, and waits until
/// `touching` does not name the source. Either the owner's look at the flags came before that fence: then its store to
/// `touching` did too, and is seen, and what was done in the window is seen once the name is gone, for it is taken back by a
/// releasing store. Or the look came after the fence: then it sees the lock, and the owner goes the way of all others. So
/// whoever has disowned a source is alone with its signal, and moves it into `Flag.signalled`, where all threads exchange it.
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

/// The owned source that is being performed, for its signals to itself: while `LoopState.calling` names it, it is what its
/// handle means. That stands in the thread's own storage, which the child of a fork empties; 0: there is none.
struct SourceInHand {
  var signal: QueuedSignal?
  /// The mode that it is performed in, and what the cell's word `mode` shows while it is in that one.
  var mode: UnsafeMutablePointer<ModeState>?
  var membership: UInt32
}

extension Item {
  /// What the flags of an owned source show in a window.
  @inline(__always)
  static var windowMask: UInt32 { Flag.valid | Flag.owned | Flag.locked }

  /// Whether the calling thread performs the owned source that a handle means.
  @inline(__always)
  static func isInHand(_ handle: UInt) -> Bool { treadle_system_thread().pointee.in_hand == handle && handle != 0 }

  /// A source that is performed signals itself. Nothing is called from here but what takes over, so that no register has to be
  /// kept.
  @inline(__always)
  static func signalInHand(_ handle: UInt, wake: Bool) -> Int32 {
    let loop = Loop(treadle_system_thread().pointee.loop.unsafelyUnwrapped)
    let signal = loop.state.pointee.inHand.signal.unsafelyUnwrapped
    let cell = signal.cell
    let mode = loop.state.pointee.inHand.mode.unsafelyUnwrapped
    let item = Item(.source, 0, UnsafeMutableRawPointer(cell))
    loop.openWindow(loop.state.pointee.calling.load(ordering: .relaxed))
    var isSignalled = false
    if cell.pointee.flags.load(ordering: .relaxed) & (windowMask | Flag.ordered) == Flag.valid | Flag.owned,
      cell.pointee.mode.load(ordering: .relaxed) == loop.state.pointee.inHand.membership
    {
      isSignalled = item.signalTime != 0
      if !isSignalled {
        let time = SignalTime.followingOfOwner(on: loop)
        if time != 0 && mode.pointee.ownSignals.appendInRoom(signal) {
          loop.state.pointee.ownTime = time
          item.setSignalTime(time)
          isSignalled = true
        }
      }
    }
    loop.closeWindow()
    if !isSignalled { return signalFully(cell, Handle(bits: handle), wake: wake) }
    if wake { loop.state.pointee.isSelfWoken = true }
    return Status.ok
  }

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
    if isSignalled && wake { loop.state.pointee.isSelfWoken = true }
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
    if let mode, let loop = mode.loop, !loop.isCurrent {
      treadle_system_heavy_barrier(false)
      while loop.state.pointee.touching.load(ordering: .acquiring) == Loop.tag(self) { treadle_system_yield() }
      mode.state.pointee.disowned.wrappingAdd(1, ordering: .relaxed)
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
    state.pointee.touching.store(tag, ordering: .relaxed)
    treadle_system_light_barrier()
  }

  /// The source that the owner performs, while the innermost run's callout says that it is the one in hand. Owner.
  var itemInHand: Item? {
    state.pointee.inHand.signal?.item
  }

  @inline(__always)
  func closeWindow() { state.pointee.touching.store(0, ordering: .releasing) }

  /// Uses up the signal of an owned source, which is in hand and protected from here on (`Protecting.swift`): who takes it out
  /// of the mode disowns it first, and so sees in `calling` what was written here, or the owner sees that it is not owned.
  /// The source's handle; or 0, and nothing was used up, if `take` has to look at the mention: the source is not owned, or not
  /// due, somebody has its lock, or something was left to the owner. Owner.
  @inline(__always)
  func useOwnedSignal(_ signal: QueuedSignal, in mode: Mode) -> UInt {
    let item = signal.item
    let mention = signal.mention
    let tag = mention.tag
    let membership = mention.membership(in: mode)
    openWindow(tag)
    var handle: UInt = 0
    if item.cell.pointee.flags.load(ordering: .relaxed) & Item.windowMask == Item.Flag.valid | Item.Flag.owned,
      item.signalTime != 0, item.generation == mention.generation, item.cell.pointee.mode.load(ordering: .relaxed) == membership
    {
      state.pointee.calling.store(tag, ordering: .relaxed)
      treadle_system_light_barrier()
      if state.pointee.left.load(ordering: .relaxed) == 0 {
        item.setSignalTime(0)
        handle = mention.handle.bits
        state.pointee.inHand.signal = signal
        state.pointee.inHand.membership = membership
      }
      treadle_system_thread().pointee.in_hand = handle
    }
    closeWindow()
    return handle
  }

  /// The same for the source that is in hand still, since it was performed: so it is what it was, and protected, unless it
  /// has another membership by now. Owner.
  @inline(__always)
  func useSignalInHand(_ item: Item) -> Bool {
    openWindow(state.pointee.calling.load(ordering: .relaxed))
    let isUsed =
      item.cell.pointee.flags.load(ordering: .relaxed) & Item.windowMask == Item.Flag.valid | Item.Flag.owned
      && item.signalTime != 0 && item.cell.pointee.mode.load(ordering: .relaxed) == state.pointee.inHand.membership
    if isUsed { item.setSignalTime(0) }
    closeWindow()
    return isUsed
  }
}
