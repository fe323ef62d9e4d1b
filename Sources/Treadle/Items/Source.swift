// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Custom sources: signalled by anybody, performed by a loop (§6 of the rules).
extension Item {
  /// A source. `code` is its plain perform callback, unless the context has another.
  package static func source(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions
  ) throws(Failure) -> Item {
    treadle_system_prepare_barrier()
    var flags: UInt32 = 0
    if options.value.order != 0 { flags |= Flag.ordered }
    if options.value.equal != nil { flags |= Flag.comparable }
    if options.value.main.invoke != nil { flags |= Flag.indirect }
    return try create(
      .source, flags: flags, code: code, info: info, context: options.value.isTrivial ? nil : options.value)
  }

  /// Signals the source that a client's handle means, quickly if it is one of a single mode and nobody meddles: one exchange
  /// when it is signalled already, as it mostly is when signals come fast. `slowly` is for all that is unusual.
  @inline(never)
  package static func signalQuickly(
    _ source: OpaquePointer?, wake: Bool, slowly: @convention(c) (OpaquePointer?) -> Int32
  ) -> Int32 {
    let handle = Handle(bits: UInt(bitPattern: source))
    guard let memory = Slab(.source).find(handle) else { return slowly(source) }
    let item = Item(.source, handle.slot, memory)
    let old = item.cell.pointee.flags.load(ordering: .relaxed)
    if old & (Flag.valid | Flag.scattered | Flag.alias | Flag.owned) != Flag.valid {
      return old & Flag.owned == 0 ? slowly(source) : signalFully(item.cell, handle, wake: wake)
    }
    if old & Flag.signalled == 0 {
      if !item.exchangeFlags(old, old | (wake ? Flag.signalled | Flag.wakeWanted : Flag.signalled)) { return slowly(source) }
      return item.queueSignalled(old, wake: wake)
    }
    // Its loop is looked up before the exchange, behind which the processor would have to wait for it.
    let loop = wake ? item.mode?.loop : nil
    if !item.exchangeFlags(old, old | (wake ? Flag.repeated | Flag.wakeWanted : Flag.repeated)) { return slowly(source) }
    // It is queued, or being performed by somebody who will look at the flag after us.
    if let loop, !loop.isWakePending { loop.wake() }
    if wake { item.countRepeat() }
    return Status.ok
  }

  /// Marks the source; every loop that has it will perform it (SRC0-6).
  package func signal(wake: Bool) -> Int32 {
    if hasFlag(Flag.owned) && signalOwned(wake: wake) { return Status.ok }
    // Of two who signal at once the first queues the source. If only the second wants the loop woken, it
    // may ask before the source is queued: the first, who looks after queueing, then wakes for both.
    let loop = mode?.loop
    let wanted = wake ? Flag.signalled | Flag.wakeWanted : Flag.signalled
    var old: UInt32
    repeat {
      if hasFlag(Flag.owned) { disownForSignal() }
      old = flags & ~Flag.owned
    } while !exchangeFlags(old, old | wanted | (old & Flag.signalled != 0 ? Flag.repeated : 0))
    if old & (Flag.valid | Flag.signalled | Flag.scattered) != Flag.valid | Flag.signalled {
      return queueSignalled(old, wake: wake)
    }
    if wake, let loop, !loop.isWakePending { loop.wake() }
    if wake { countRepeat() }
    return Status.ok
  }

  /// What a signal comes to that is not merely one more of the same.
  @inline(never)
  private func queueSignalled(_ old: UInt32, wake: Bool) -> Int32 {
    if old & (Flag.valid | Flag.scattered) != Flag.valid {
      return old & Flag.valid == 0 ? Status.ignored : signalAliased(isFresh: old & Flag.signalled == 0, wake: wake)
    }
    // Looked up after the exchange: whoever adds the source to a mode looks at the flag afterwards, so one of the two
    // sees what the other did.
    guard let mode = Mode(slot: cell.pointee.mode.load(ordering: .sequentiallyConsistent) & Mention.slotMask),
      let loop = mode.loop
    else {
      setSignalTime(SignalTime.anywhere())
      return Status.ok
    }
    let isQueued =
      loop.isCurrent ? queueForOwner(mode, loop, old, wake: wake) : queueForOthers(mode, loop, old, wake: wake)
    if isQueued { return Status.ok }
    clearFlag(Flag.ofSignal)
    return Status.noMemory
  }

  /// On the loop's own thread: in a queue that no other thread looks at, so without its gate. False without memory.
  @inline(__always)
  private func queueForOwner(_ mode: Mode, _ loop: Loop, _ old: UInt32, wake: Bool) -> Bool {
    setSignalTime(SignalTime.nextOfOwner(on: loop))
    if wake || hasFlag(Flag.wakeWanted) { loop.hand.pointee.is_woken = true }
    if old & Flag.ordered != 0 { mode.state.pointee.ownSignalsAreMixed = true }
    // If the source has left the mode meanwhile, the mention is stale from the beginning.
    if !mode.appendOwn(self) { return false }
    noteOwnSignal(mode, loop, old)
    return true
  }

  /// False without memory.
  @inline(__always)
  private func queueForOthers(_ mode: Mode, _ loop: Loop, _ old: UInt32, wake: Bool) -> Bool {
    let resumesFlood = mayResumeFlood()
    // Both cache lines come at the same time.
    mode.prefetchSignals()
    loop.state.pointee.gate.lock()
    var sleep = Sleep.awake
    var isQueued = true
    let now = flags
    // If the owner has used the signal up already, and the source is its own by now, it must be let alone.
    if isIn(mode) && now & Flag.owned == 0 {
      setSignalTime(SignalTime.next(on: loop))
      // If it has come into a second mode meanwhile, the signal may have been used up already.
      if now & (Flag.ordered | Flag.scattered) != 0 { mode.state.pointee.signalsAreMixed = true }
      isQueued = mode.append(self)
      loop.noteCaller()
      if wake || hasFlag(Flag.wakeWanted) {
        sleep = loop.markWoken()
        if resumesFlood { _ = mode.startFlood(of: self) }
      }
    }
    loop.state.pointee.gate.unlock()
    if sleep != Sleep.awake { loop.endSleep(sleep) }
    return isQueued
  }

  /// A source in several modes, or formerly so: each membership is mentioned in its mode's queue.
  @inline(never)
  private func signalAliased(isFresh: Bool, wake: Bool) -> Int32 {
    lock()
    defer { unlock() }
    if isFresh { setSignalTime(SignalTime.anywhere()) }
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.state.pointee.isRecord, let loop = mode.loop {
        if isFresh { mode.mention(member) }
        if wake { loop.wake() }
      }
      next = following(member)
    }
    return Status.ok
  }

  package var isSignalled: Bool {
    let flags = self.flags
    if flags & Flag.owned != 0 { return flags & Flag.valid != 0 && signalTime != 0 }
    return flags & (Flag.valid | Flag.signalled) == Flag.valid | Flag.signalled
  }

  /// Calls the client's schedule for a mode that the source joined (SRC0-3).
  func tellScheduled(_ loop: Loop, _ mode: Mode) {
    guard let context, let name = mode.name else { return }
    if let schedule = context.pointee.schedule {
      call(schedule, loop, name)
    } else if context.pointee.scheduleIndirect.invoke != nil {
      tell(Event.Kind.schedule, context.pointee.scheduleIndirect, loop, name)
    }
  }

  /// Calls the client's cancel for a mode that the source left (SRC0-3).
  func tellCancelled(_ loop: Loop, _ mode: Mode) {
    guard let context, let name = mode.name else { return }
    if let cancel = context.pointee.cancel {
      call(cancel, loop, name)
    } else if context.pointee.cancelIndirect.invoke != nil {
      tell(Event.Kind.cancel, context.pointee.cancelIndirect, loop, name)
    }
  }

  private func call(_ routine: Context.Schedule, _ loop: Loop, _ name: UnsafePointer<CChar>) {
    _ = ClientCall.during {
      ItemCall.during(self) {
        routine(handlePointer, OpaquePointer(bitPattern: loop.handle.bits), name, cell.pointee.info)
      }
    }
  }

  private func tell(_ kind: UInt32, _ callback: IndirectCallback, _ loop: Loop, _ name: UnsafePointer<CChar>) {
    var event = Event(kind, token: context?.pointee.token ?? 0, loop: loop, subject: handle.bits, mode: name)
    guard let invoke = callback.invoke else { return }
    var completed = true
    _ = ClientCall.during { ItemCall.during(self) { completed = invoke(callback.object, &event) } }
    if !completed { Loop.existing?.failRun() }
  }
}

extension Mode {
  /// Queues a membership of a source. The gate is held.
  @inline(__always)
  func append(_ member: Item) -> Bool {
    let bits = Mention(member).bits
    if state.pointee.signalledCount.load(ordering: .relaxed) == 0 {
      state.pointee.loneSignal = bits
      state.pointee.signalledCount.store(1, ordering: .releasing)
      return true
    }
    if state.pointee.signalled.isFull { dropStaleSignals() }
    guard state.pointee.signalled.append(bits) else { return false }
    noteSignalledCount()
    return true
  }

  /// Asks for the cache line that others' signals write (`ModeState`).
  @inline(__always)
  func prefetchSignals() { treadle_system_prefetch_for_writing(UnsafeMutableRawPointer(state) + 128) }

  /// The gate is held.
  @inline(__always)
  func noteSignalledCount() {
    let count = state.pointee.signalled.count &+ (state.pointee.loneSignal == 0 ? 0 : 1)
    state.pointee.signalledCount.store(count, ordering: .releasing)
  }

  /// The same among the owner's own signals, of a source that is not owned. Owner.
  @inline(__always)
  func appendOwn(_ member: Item) -> Bool {
    if state.pointee.ownSignals.isFull { dropStaleOwnSignals() }
    state.pointee.ownedAsOf = Loop.never
    return state.pointee.ownSignals.append(QueuedSignal(member))
  }

  /// Queues a membership of a source that may be queued already: where it takes its turn is decided by
  /// the time of its signal.
  func mention(_ member: Item) {
    guard let loop else { return }
    loop.state.pointee.gate.lock()
    defer { loop.state.pointee.gate.unlock() }
    guard member.isIn(self) else { return }
    state.pointee.staleSignals = state.pointee.staleSignals &+ 1
    if state.pointee.staleSignals > 64 && state.pointee.staleSignals > state.pointee.signalled.count / 2 {
      dropStaleSignals()
    }
    state.pointee.signalsAreMixed = true
    _ = append(member)
  }

  /// Keeps a queue that nobody runs from growing with mentions that mean nothing any more, or the same
  /// as another. Gate.
  @inline(never)
  private func dropStaleSignals() {
    var kept = 0
    for bits in state.pointee.signalled.elements {
      guard let member = Mention(bits: bits).cell(.source, in: self), member.primary.isSignalled,
        member.setFlag(Item.Flag.counted) & Item.Flag.counted == 0
      else { continue }
      state.pointee.signalled.set(kept, bits)
      kept &+= 1
    }
    state.pointee.signalled.truncate(kept)
    for bits in state.pointee.signalled.elements {
      Mention(bits: bits).cell(.source, in: self)?.clearFlag(Item.Flag.counted)
    }
    state.pointee.staleSignals = 0
  }

  /// The same for the owner's own signals, of which hardly any is there twice. Owner.
  @inline(never)
  private func dropStaleOwnSignals() {
    var kept = 0
    for signal in state.pointee.ownSignals.elements
    where signal.mention.item(.source, in: self)?.isSignalled == true {
      state.pointee.ownSignals.set(kept, signal)
      kept &+= 1
    }
    state.pointee.ownSignals.truncate(kept)
  }
}
