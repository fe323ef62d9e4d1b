// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Signalling sources, from any thread (SRC0-6): an exchange of the mark, and for the first signal since the source was
/// performed a place in a queue of its mode: the owner's, or the one that others fill under the loop's gate.
extension Item {
  /// Signals the source that a client's handle means. An exchange that names the generation is enough to do so: the source
  /// is not held, and if it goes meanwhile its place in the queue is a stale entry.
  @inline(__always)
  package static func signal(_ source: OpaquePointer?, wake: Bool) throws(Failure) -> Int32 {
    let handle = Handle(bits: UInt(bitPattern: source))
    guard let memory = Slab(.source).locate(handle) else { throw handle.failure("source") }
    let item = Item(.source, handle.slot, memory)
    // Looked up before the exchange, behind which the processor would have to wait for it.
    let loop = wake ? item.mode?.loop : nil
    guard let before = item.cell.pointee.reference.signal(handle.generation, wake: wake) else {
      if item.cell.pointee.reference.isLive(handle.generation) { return Status.ignored }
      throw handle.failure("source")
    }
    if before.has(Reference.Mark.signalled) && !item.hasNote(Note.scattered) {
      // Coalesced: it is queued, or about to be by somebody who will look at the marks after us, or being performed by
      // somebody who has not exchanged them yet.
      if let loop, !loop.isWakePending { loop.wake() }
      return Status.ok
    }
    return try item.queueSignal(isFresh: !before.has(Reference.Mark.signalled), wake: wake)
  }

  /// Signals a source that the caller holds.
  package func signal(wake: Bool) throws(Failure) -> Int32 {
    guard let before = cell.pointee.reference.signal(generation, wake: wake) else { return Status.ignored }
    return try queueSignal(isFresh: !before.has(Reference.Mark.signalled), wake: wake)
  }

  @inline(__always)
  private func queueSignal(isFresh: Bool, wake: Bool) throws(Failure) -> Int32 {
    if hasNote(Note.scattered) { return try queueEverywhere(isFresh: isFresh, wake: wake) }
    var isFresh = isFresh
    while true {
      // Looked at after the exchange: whoever adds the source to a mode looks at the mark afterwards.
      let slot = membership
      if let mode = Mode(slot: slot), let loop = mode.loop {
        if isFresh && !(loop.isCurrent ? queueForOwner(mode, loop, wake: wake) : queueForOthers(mode, loop, wake: wake)) {
          cell.pointee.reference.clear(Reference.Mark.ofSignal)
          throw Failure.noMemory("source")
        }
        if !isFresh && wake { loop.wake() }
      } else if isFresh {
        setSignalTime(SignalTime.anywhere())
      }
      if membership == slot { return Status.ok }
      // It has come into another mode meanwhile.
      isFresh = true
    }
  }

  /// On the loop's own thread: in a queue that no other thread looks at, so without its gate. False without memory.
  @inline(__always)
  private func queueForOwner(_ mode: Mode, _ loop: Loop, wake: Bool) -> Bool {
    let time = SignalTime.nextOfOwner(on: loop)
    setSignalTime(time)
    if wake || cell.pointee.reference.seen.has(Reference.Mark.wakeWanted) { loop.state.pointee.isWokenByOwner = true }
    if hasTrait(Trait.ordered) { mode.state.pointee.ownSignalsAreMixed = true }
    return mode.appendOwn(Entry(self, time))
  }

  /// False without memory.
  @inline(__always)
  private func queueForOthers(_ mode: Mode, _ loop: Loop, wake: Bool) -> Bool {
    // Both cache lines come at the same time.
    mode.prefetchSignals()
    loop.state.pointee.gate.lock()
    let time = SignalTime.next(on: loop)
    setSignalTime(time)
    if hasTrait(Trait.ordered) { mode.state.pointee.signalsAreMixed = true }
    let isQueued = mode.append(Entry(self, time))
    loop.noteCaller()
    // Of two who signal at once the first queues the source. If only the second wants the loop woken, it may ask before the
    // source is queued: the first, who looks after queueing, then wakes for both.
    let sleep = wake || cell.pointee.reference.seen.has(Reference.Mark.wakeWanted) ? loop.markWoken() : Sleep.awake
    loop.state.pointee.gate.unlock()
    if sleep != Sleep.awake { loop.endSleep(sleep) }
    return isQueued
  }

  /// A source that is, or was, in several modes: each membership gets its place. The caller need not hold it.
  @inline(never)
  private func queueEverywhere(isFresh: Bool, wake: Bool) throws(Failure) -> Int32 {
    let generation = self.generation
    guard cell.pointee.reference.hold(generation) else { return Status.ok }
    lock()
    if isFresh { setSignalTime(SignalTime.anywhere()) }
    var hasMemory = true
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.isRecord, let loop = mode.loop {
        if isFresh && !mode.mention(member, at: signalTime) { hasMemory = false }
        if wake { loop.wake() }
      }
      next = following(member)
    }
    unlock()
    if !hasMemory { cell.pointee.reference.clear(Reference.Mark.ofSignal) }
    drop()
    if !hasMemory { throw Failure.noMemory("source") }
    return Status.ok
  }

  package var isSignalled: Bool {
    let seen = cell.pointee.reference.seen
    return seen.has(Reference.Mark.valid) && seen.has(Reference.Mark.signalled)
  }
}
