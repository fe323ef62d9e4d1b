// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Signalling sources, from any thread (SRC0-6): an exchange of the mark, and for the first signal since the source was
/// performed a place in a queue of its mode: the owner's, or the one that others fill under the loop's gate.
///
/// A thread that signals exchanges the mark, then looks for the source's modes; one that adds the source to a mode
/// claims its cell, or exchanges the word behind the beginning of an alias (`Loop.join`), then looks at the mark. So at
/// least one of the two queues it there.
extension Item {
  /// Signals the source that a client's handle means. An exchange that names the generation is enough to do so: the
  /// source is not held, and if it goes meanwhile its place in the queue is a stale entry.
  @inline(__always)
  package static func signal(_ source: OpaquePointer?, wake: Bool) throws(Failure) -> Int32 {
    let handle = Handle(bits: UInt(bitPattern: source))
    let item = try locate(.source, handle, "source")
    // Looked up before the exchange, behind which the processor would have to wait for it.
    let slot = item.membership
    let mode = Mode(slot: slot)
    let loop = mode?.loop
    guard let before = item.cell.reference.signal(handle.generation, wake: wake) else {
      if item.cell.reference.isLive(handle.generation) { return Status.ignored }
      throw handle.failure("source")
    }
    if let mode, let loop, item.membership == slot, !item.hasNote(Note.scattered) {
      if before.has(Reference.Mark.signalled) {
        // Coalesced: it is queued, or about to be by somebody who will look at the marks after us, or being performed
        // by somebody who has not exchanged them yet.
        if wake && !loop.isWakePending { loop.wake() }
      } else {
        if Watch.isListened { treadle_system_probe_signal(handle.bits) }
        if loop.isCurrent {
          try item.queueForOwner(mode, loop, wake: wake)
        } else {
          try item.queueForOthers(mode, loop, handle.generation, wake: wake)
        }
      }
    } else {
      if Watch.isListened && !before.has(Reference.Mark.signalled) { treadle_system_probe_signal(handle.bits) }
      try item.queueEverywhere(handle.generation, isFresh: !before.has(Reference.Mark.signalled), wake: wake)
    }
    return Status.ok
  }

  /// Signals a source that the caller holds.
  package func signal(wake: Bool) throws(Failure) -> Int32 { try Item.signal(handlePointer, wake: wake) }

  /// On the loop's own thread: in a queue that no other thread looks at, so without its gate.
  @inline(__always)
  private func queueForOwner(_ mode: Mode, _ loop: Loop, wake: Bool) throws(Failure) {
    let time = SignalTime.nextOfOwner(on: loop)
    setSignalTime(time)
    if Watch.isTracing { traceSignal(time) }
    if wake || cell.reference.seen.has(Reference.Mark.wakeWanted) { loop.state.isWokenByOwner = true }
    if hasTrait(Trait.ordered) { mode.state.ownSignalsAreMixed = true }
    if !mode.appendOwn(Entry(self, time)) { throw unsignal() }
    if loop.hasPollables { loop.kickSleeper() }
  }

  @inline(__always)
  private func queueForOthers(_ mode: Mode, _ loop: Loop, _ generation: UInt32, wake: Bool) throws(Failure) {
    // Both cache lines come at the same time.
    mode.prefetchSignals()
    loop.state.gate.lock()
    // The source may have left, and the loop have gone, meanwhile: neither is held.
    if !mode.takesSignals(of: loop) {
      loop.state.gate.unlock()
      return try queueEverywhere(generation, isFresh: true, wake: wake)
    }
    let time = SignalTime.next(on: loop)
    setSignalTime(time)
    if hasTrait(Trait.ordered) { mode.state.signalsAreMixed = true }
    let isQueued = mode.append(Entry(self, time))
    loop.noteCaller()
    let wakes = wake || needsWakeup
    let sleep = wakes ? loop.markWoken() : Sleep.awake
    loop.state.gate.unlock()
    if sleep != Sleep.awake { loop.endSleep(sleep) }
    // Behind the wake-up: with the last reference, this calls the client's release, which may wait for the loop.
    if Watch.isOn { noteSignal(generation, time, wakes ? nil : loop) }
    if !isQueued { throw unsignal() }
  }

  /// Whether the loop is to be woken for a source that was just queued by a signal without a wake-up. Between that
  /// signal's mark and the place in the queue, another signal may have come, or a caller may have been told that the
  /// source is signalled: a pass since then has not found the source, and its loop may sleep.
  @inline(__always)
  private var needsWakeup: Bool {
    cell.reference.seenInOrder.has(Reference.Mark.wakeWanted | Reference.Mark.repeated)
  }

  /// A signal that found the source not signalled, for the trace. The source is the owner's, or held.
  @inline(never)
  private func traceSignal(_ time: UInt64, isQuiet: Bool = false) {
    Trace.record(
      Trace.What.signal, number: isQuiet ? Trace.quietSignal : 0, item: handle.bits, label: label,
      flow: Trace.flow(of: handle.bits, time))
  }
  /// For the trace and the debug log, of a source that may be gone; `sleeper`: a loop that the signal does not wake.
  @inline(never)
  private func noteSignal(_ generation: UInt32, _ time: UInt64, _ sleeper: Loop?) {
    let sleeper = sleeper.flatMap { $0.isAsleep ? $0 : nil }
    if Watch.isTracing, cell.reference.hold(generation) {
      traceSignal(time, isQuiet: sleeper != nil)
      drop()
    }
    if let sleeper, Watch.isTelling {
      treadle_system_note_signal(
        UnsafeMutableRawPointer(sleeper.address), UInt64(Handle(tag: tag, generation: generation).bits))
    }
  }

  /// A loop that sleeps, and is not the caller's, of those whose modes the source is in. Its lock is held.
  @inline(never)
  private var sleeper: Loop? {
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.isRecord, let loop = mode.loop, !loop.isCurrent, loop.isAsleep { return loop }
      next = following(member)
    }
    return nil
  }

  /// Without a place in a queue a signal must not stand in the way of later ones.
  @inline(never)
  private func unsignal() -> Failure {
    cell.reference.clear(Reference.Mark.ofSignal)
    return Failure.noMemory("source")
  }

  /// A source that is in no mode, or is or was in several, or is just being moved: each membership gets its place.
  @inline(never)
  private func queueEverywhere(_ generation: UInt32, isFresh: Bool, wake: Bool) throws(Failure) {
    guard cell.reference.hold(generation) else { return }
    defer { drop() }
    lock()
    let quiet = Watch.isOn && isFresh && !wake && !needsWakeup ? sleeper : nil
    if isFresh {
      let time = SignalTime.anywhere()
      setSignalTime(time)
      if Watch.isTracing { traceSignal(time, isQuiet: quiet != nil) }
    }
    var hasMemory = true
    var next: Item? = self
    while let member = next {
      if let mode = member.tag == tag ? settledMode : member.mode, !mode.isRecord, let loop = mode.loop {
        if isFresh && !mode.mention(member) { hasMemory = false }
        if wake || isFresh && needsWakeup { loop.wake() }
      }
      next = following(member)
    }
    unlock()
    if let quiet, Watch.isTelling {
      treadle_system_note_signal(UnsafeMutableRawPointer(quiet.address), UInt64(handle.bits))
    }
    if !hasMemory { throw unsignal() }
  }

  package var isSignalled: Bool {
    let seen = cell.reference.seen
    return seen.has(Reference.Mark.valid) && seen.has(Reference.Mark.signalled)
  }

  /// `isSignalled` for a client, who may run the loop next: a source that is not queued yet wakes the loop when it is.
  package func tellSignalled() -> Bool {
    let needs = Reference.Mark.valid | Reference.Mark.signalled
    return cell.reference.exchange(handle.generation, needs: needs, set: Reference.Mark.wakeWanted, clear: 0) != nil
  }
}

/// Custom sources: signalled by anybody, performed by a loop (§6 of the rules).
extension Item {
  /// A source. `code` is its plain perform callback, unless the context has another.
  /// One with nothing but a plain callback: without the options, which are many words to copy.
  @inline(__always)
  package static func source(code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?) throws(Failure) -> Item {
    try create(.source, traits: 0, code: code, info: info, context: nil) { $0.setSignalTime(0) }
  }

  package static func source(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context
  ) throws(Failure) -> Item {
    var traits: UInt8 = 0
    if context.order != 0 { traits |= Trait.ordered }
    if context.equal != nil { traits |= Trait.comparable }
    if context.main.invoke != nil { traits |= Trait.indirect }
    return try create(
      .source, traits: traits, code: code, info: info, context: context.isTrivial ? nil : context
    ) { $0.setSignalTime(0) }
  }
}

/// When a source was first signalled, as a number that orders signals; no clock is read (SRC0-7).
///
/// Signals of one loop from other threads count under its gate, in steps. The owner's take no gate: each gets one of
/// the numbers between the last step and the next, which no other thread uses. A signal that belongs to no one loop,
/// because its source is in no mode or in several, begins a new *era* of the whole process, and every later signal
/// names the era it was given in, in the high half of its number. Where the numbers of an era or a step run out, a new
/// era begins.
enum SignalTime {
  private static let step: UInt64 = 1 << 12
  /// In a queue: the source takes its turn by whatever its time is. Nothing is signalled at this time.
  static let any: UInt64 = 0

  /// The next of a loop. Its gate is held.
  @inline(__always)
  static func next(on loop: Loop) -> UInt64 {
    let last = loop.state.clock.load(ordering: .relaxed)
    let era = UInt64(treadle_system_era())
    var time = max((last | (step &- 1)) &+ 1, (era << 32) &+ step)
    if time >> 32 != era { time = anywhere() &+ step }
    loop.state.clock.store(time, ordering: .relaxed)
    return time
  }

  /// The next of a loop for its owner: later than all that others have been told, earlier than what they will be.
  @inline(__always)
  static func nextOfOwner(on loop: Loop) -> UInt64 {
    let base = max(loop.state.clock.load(ordering: .relaxed), UInt64(treadle_system_era()) << 32)
    var time = max(loop.state.ownTime, base) &+ 1
    if time & (step &- 1) == 0 { time = anywhere() &+ 1 }
    loop.state.ownTime = time
    return time
  }

  /// Later than every signal so far, wherever it was given.
  static func anywhere() -> UInt64 { UInt64(treadle_system_next_era()) << 32 }
}

extension Item {
  /// Of the last signal that found the source not signalled: written by whoever gave it, behind the exchange of the
  /// mark, and read to order sources, by whoever has found them in a queue. Nothing else is read by it.
  @inline(__always)
  var signalTime: UInt64 { source.signalTime.load(ordering: .relaxed) }
  @inline(__always)
  func setSignalTime(_ time: UInt64) { source.signalTime.store(time, ordering: .relaxed) }
}
