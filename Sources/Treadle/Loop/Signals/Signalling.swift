// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Signalling sources, from any thread (SRC0-6): an exchange of the mark, and for the first signal since the source was
/// performed a place in a queue of its mode: the owner's, or the one that others fill under the loop's gate.
///
/// Who signals exchanges the mark, then looks for the source's modes; who adds the source to a mode says so, then looks at
/// the mark. So at least one of the two queues it there.
extension Item {
  /// Signals the source that a client's handle means. An exchange that names the generation is enough to do so: the source
  /// is not held, and if it goes meanwhile its place in the queue is a stale entry.
  @inline(__always)
  package static func signal(_ source: OpaquePointer?, wake: Bool) throws(Failure) -> Int32 {
    let handle = Handle(bits: UInt(bitPattern: source))
    let item = try locate(.source, handle, "source")
    // Looked up before the exchange, behind which the processor would have to wait for it.
    let slot = item.membership
    let mode = Mode(slot: slot)
    let loop = mode?.loop
    guard let before = item.cell.pointee.reference.signal(handle.generation, wake: wake) else {
      if item.cell.pointee.reference.isLive(handle.generation) { return Status.ignored }
      throw handle.failure("source")
    }
    if let mode, let loop, item.membership == slot, !item.hasNote(Note.scattered) {
      if before.has(Reference.Mark.signalled) {
        // Coalesced: it is queued, or about to be by somebody who will look at the marks after us, or being performed by
        // somebody who has not exchanged them yet.
        if wake && !loop.isWakePending { loop.wake() }
      } else if loop.isCurrent {
        try item.queueForOwner(mode, loop, wake: wake)
      } else {
        try item.queueForOthers(mode, loop, handle.generation, wake: wake)
      }
    } else {
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
    if wake || cell.pointee.reference.seen.has(Reference.Mark.wakeWanted) { loop.state.pointee.isWokenByOwner = true }
    if hasTrait(Trait.ordered) { mode.state.pointee.ownSignalsAreMixed = true }
    if !mode.appendOwn(Entry(self, time)) { throw unsignal() }
  }

  @inline(__always)
  private func queueForOthers(_ mode: Mode, _ loop: Loop, _ generation: UInt32, wake: Bool) throws(Failure) {
    // Both cache lines come at the same time.
    mode.prefetchSignals()
    loop.state.pointee.gate.lock()
    // The source may have left, and the loop have gone, meanwhile: neither is held.
    if !mode.isOf(loop) {
      loop.state.pointee.gate.unlock()
      return try queueEverywhere(generation, isFresh: true, wake: wake)
    }
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
    if !isQueued { throw unsignal() }
  }

  /// Without a place in a queue a signal must not stand in the way of later ones.
  @inline(never)
  private func unsignal() -> Failure {
    cell.pointee.reference.clear(Reference.Mark.ofSignal)
    return Failure.noMemory("source")
  }

  /// A source that is in no mode, or is or was in several, or is just being moved: each membership gets its place.
  @inline(never)
  private func queueEverywhere(_ generation: UInt32, isFresh: Bool, wake: Bool) throws(Failure) {
    guard cell.pointee.reference.hold(generation) else { return }
    defer { drop() }
    lock()
    if isFresh { setSignalTime(SignalTime.anywhere()) }
    var hasMemory = true
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.isRecord, let loop = mode.loop {
        if isFresh && !mode.mention(member) { hasMemory = false }
        if wake { loop.wake() }
      }
      next = following(member)
    }
    unlock()
    if !hasMemory { throw unsignal() }
  }

  package var isSignalled: Bool {
    let seen = cell.pointee.reference.seen
    return seen.has(Reference.Mark.valid) && seen.has(Reference.Mark.signalled)
  }
}

/// Custom sources: signalled by anybody, performed by a loop (§6 of the rules).
extension Item {
  /// A source. `code` is its plain perform callback, unless the context has another.
  package static func source(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions
  ) throws(Failure) -> Item {
    var traits: UInt8 = 0
    if options.value.order != 0 { traits |= Trait.ordered }
    if options.value.equal != nil { traits |= Trait.comparable }
    if options.value.main.invoke != nil { traits |= Trait.indirect }
    return try create(
      .source, traits: traits, code: code, info: info, context: options.value.isTrivial ? nil : options.value
    ) { $0.setSignalTime(0) }
  }
}
