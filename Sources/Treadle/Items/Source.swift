// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// Custom sources: signalled by anybody, performed by a loop (§6 of the rules).
extension Item {
  /// A source. `code` is its plain perform callback, unless the context has another.
  package static func source(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions
  ) throws(Failure) -> Item {
    var flags: UInt32 = 0
    if options.value.order != 0 { flags |= Flag.ordered }
    if options.value.equal != nil { flags |= Flag.comparable }
    if options.value.main.invoke != nil { flags |= Flag.indirect }
    return try create(
      .source, flags: flags, code: code, info: info, context: options.value.isTrivial ? nil : options.value)
  }

  /// Marks the source; every loop that has it will perform it (SRC0-6).
  @inline(__always)
  package func signal(wake: Bool) -> Int32 {
    // Of two who signal at once the first queues the source. If only the second wants the loop woken, it
    // may ask before the source is queued: the first, who looks after queueing, then wakes for both.
    // Its loop is looked up before the exchange, behind which the processor would have to wait for it.
    let loop = mode?.loop
    let old = markSignalled(wake ? Flag.signalled | Flag.wakeWanted : Flag.signalled)
    if old & (Flag.valid | Flag.signalled | Flag.scattered) != Flag.valid | Flag.signalled {
      return queueSignalled(old, wake: wake)
    }
    // Signalled already: it is queued, or being performed by somebody who will look at the flag after us.
    if wake, let loop, !loop.isWakePending { loop.wake() }
    return Status.ok
  }

  /// Sets flags, and `repeated` if the source is signalled; the flags before.
  @inline(__always)
  private func markSignalled(_ wanted: UInt32) -> UInt32 {
    var old = cell.pointee.flags.load(ordering: .relaxed)
    while true {
      // An exchange in any case: see `Loop.isWakePending`.
      let new = old | wanted | (old & Flag.signalled != 0 ? Flag.repeated : 0)
      let (isExchanged, original) = cell.pointee.flags.weakCompareExchange(
        expected: old, desired: new, ordering: .sequentiallyConsistent)
      if isExchanged { return old }
      old = original
    }
  }

  /// What a signal comes to that is not merely one more of the same.
  @inline(never)
  private func queueSignalled(_ old: UInt32, wake: Bool) -> Int32 {
    if old & Flag.valid == 0 { return Status.ignored }
    if old & Flag.scattered != 0 { return signalAliased(isFresh: old & Flag.signalled == 0, wake: wake) }
    guard let mode, let loop = mode.loop else {
      setSignalTime(SignalTime.anywhere())
      return Status.ok
    }
    let isForeign = !loop.isCurrent
    loop.state.pointee.gate.lock()
    var sleep = Sleep.awake
    var isQueued = true
    if isIn(mode) {
      setSignalTime(SignalTime.next(on: loop))
      isQueued = mode.append(self)
      if isForeign { loop.noteCaller() }
      if wake || hasFlag(Flag.wakeWanted) { sleep = loop.markWoken() }
    }
    loop.state.pointee.gate.unlock()
    if sleep != Sleep.awake { loop.endSleep(sleep) }
    if !isQueued {
      clearFlag(Flag.signalled | Flag.wakeWanted)
      return Status.noMemory
    }
    return Status.ok
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

  package var isSignalled: Bool { flags & (Flag.valid | Flag.signalled) == Flag.valid | Flag.signalled }

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
    guard state.pointee.signalled.append(Mention(member).bits) else { return false }
    state.pointee.signalledCount.store(state.pointee.signalled.count, ordering: .releasing)
    return true
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
    _ = append(member)
  }

  /// Keeps a queue that nobody runs from growing with mentions that mean nothing any more, or the same
  /// as another. Gate.
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
}
