// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// PASS-5: performing what was signalled, and jobs in their turn among that. The cost is that of the signalled sources,
/// however many the mode has.
extension Loop {
  /// Takes the signalled sources of the mode, in the order of their calls: ascending by order, then by the time of the
  /// first signal (SRC0-7). False if there is nothing to perform.
  @inline(__always)
  func openSources(_ frame: Frame.Pointer) -> Bool {
    let mode = frame.pointee.mode
    let hasOthers = mode.state.signalledCount.load(ordering: .relaxed) != 0
    if !hasOthers && mode.state.ownSignals.isEmpty && !hasJobs && frame.pointee.outer == nil { return false }
    frame.pointee.batch.open(.sources)
    var isMixed = mode.state.hasScattered.load(ordering: .relaxed)
    if hasOthers && takeSignals(frame) { isMixed = true }
    if !mode.state.ownSignals.isEmpty && takeOwnSignals(frame) { isMixed = true }
    if frame.pointee.outer != nil && takeFromOuterRuns(frame) { isMixed = true }
    if isMixed { putInOrder(frame) }
    frame.pointee.batch.jobs = hasJobs ? openJobs(frame.pointee.mode) : JobCursor()
    return !frame.pointee.batch.isEmpty || !frame.pointee.batch.jobs.isOver
  }

  /// What other threads have signalled, in exchange for the batch's empty room. True if it may be out of order.
  @inline(never)
  private func takeSignals(_ frame: Frame.Pointer) -> Bool {
    letOthersQueueMore(frame.pointee.mode)
    let mode = frame.pointee.mode
    state.gate.lock()
    let isMixed = mode.state.signalsAreMixed
    frame.pointee.batch.entries.takeAll(of: &mode.state.signalled)
    mode.state.signalsAreMixed = false
    frame.pointee.mode.noteSignalledCount()
    noteTaken(frame.pointee.batch.entries.count)
    state.gate.unlock()
    return isMixed
  }

  /// What the owner has signalled itself, behind what was taken already.
  @inline(__always)
  private func takeOwnSignals(_ frame: Frame.Pointer) -> Bool {
    let mode = frame.pointee.mode
    var isMixed = mode.state.ownSignalsAreMixed
    if frame.pointee.batch.entries.isEmpty {
      frame.pointee.batch.entries.takeAll(of: &mode.state.ownSignals)
    } else if frame.pointee.batch.entries.reserve(frame.pointee.batch.entries.count &+ mode.state.ownSignals.count) {
      for entry in mode.state.ownSignals.elements { _ = frame.pointee.batch.entries.appendInRoom(entry) }
      mode.state.ownSignals.removeAll()
      isMixed = true
    } else {
      // Without memory they wait for the next pass.
      return isMixed
    }
    mode.state.ownSignalsAreMixed = false
    return isMixed
  }

  /// What outer runs of the same mode have collected but not reached is performed here (RUN-13); they find the signals
  /// used up. True if there was anything: where it stands among the others, the time of the signals decides.
  private func takeFromOuterRuns(_ frame: Frame.Pointer) -> Bool {
    var hasTaken = false
    var outer = frame.pointee.outer
    while let run = outer {
      if run.pointee.mode.slot == frame.pointee.mode.slot && run.pointee.batch.kind == .sources {
        for entry in run.pointee.batch.entries.elements.dropFirst(run.pointee.batch.index) {
          // Without memory the outer run performs it.
          if frame.pointee.batch.entries.append(entry) { hasTaken = true }
        }
      }
      outer = run.pointee.outer
    }
    return hasTaken
  }

  /// The next source or job to perform. With `onlyFirst`, for a host, the first entry of the batch or nothing. The end
  /// of one callback and the beginning of the next are one step under the lock, unless a job comes in between.
  @inline(__always)
  func nextSource(_ frame: Frame.Pointer, onlyFirst: Bool = false) -> Bool {
    if let job = frame.pointee.callout.job {
      frame.pointee.callout.clear()
      settleJob(job, .returned)
      if mustEnd(frame) { return false }
    }
    while true {
      let isLast = frame.pointee.handled && frame.pointee.flags & Frame.Flag.returnAfterSource != 0
      let hasJobs = !frame.pointee.batch.jobs.isOver && (!isLast || frame.pointee.batch.jobs.isBegun)
      if hasJobs || isLast, frame.pointee.callout.item != nil {
        // Whoever is called by that may have ended everything. In the child of a fork the lock may be held for ever.
        settleItem(frame)
        if mustEnd(frame) { return false }
      }
      if hasJobs && !mustEnd(frame) && nextJob(frame) { return true }
      if isLast && !mustEnd(frame) { return leaveOthers(frame) }
      lock()
      let dropped = endCallout(frame)
      let next = dropped != nil || mustEnd(frame) ? nil : takeSource(frame, onlyFirst: onlyFirst)
      unlock()
      if let next {
        frame.pointee.handled = true
        frame.pointee.callout.set(.source, next)
        return true
      }
      dropped?.drop()
      if mustEnd(frame) { return false }
      if dropped != nil { continue }
      if onlyFirst { return false }
      state.counters.signals.count(frame.pointee.batch.calledCount)
      return closeBatch(frame)
    }
  }

  /// The lock is held.
  @inline(__always)
  private func takeSource(_ frame: Frame.Pointer, onlyFirst: Bool) -> Item? {
    assertHeld()
    while let entry = frame.pointee.batch.takeFirst() {
      if let item = use(entry, frame) {
        beginCalling(item)
        return item
      }
      frame.pointee.batch.keptCount &+= 1
      if onlyFirst { break }
    }
    return nil
  }

  /// The source of an entry, if it is to be performed: if it is signalled still, or again (SRC0-7). The signal is used
  /// up before the call, so that one given meanwhile is new (SRC0-8). The lock is held.
  @inline(__always)
  private func use(_ entry: Entry, _ frame: Frame.Pointer) -> Item? {
    let mode = frame.pointee.mode
    // Not of a stale entry, which has no signal to use.
    guard let member = Item(.source, slot: entry.mention.slot), member.isIn(mode), entry.mention.isLast(of: member)
    else {
      return nil
    }
    let item = member.primary
    let generation = member.tag == item.tag ? entry.mention.generation : item.generation
    guard
      let before = item.cell.reference.exchange(
        generation, needs: Reference.Mark.valid | Reference.Mark.signalled, set: 0, clear: Reference.Mark.ofSignal)
    else { return nil }
    if before.has(Reference.Mark.repeated) { state.isOverrun = true }
    // It was another signal than the entry's, whose own entry is stale now.
    if item.signalTime != entry.second { mode.state.ownSignalsAreMixed = true }
    return item
  }

  /// A run that returns after a source leaves the rest of them to a later pass.
  @inline(never)
  private func leaveOthers(_ frame: Frame.Pointer) -> Bool {
    putBackSources(frame)
    return closeBatch(frame)
  }

  /// Sources that were collected but are left for a later pass are queued again, ahead of those signalled meanwhile.
  func putBackSources(_ frame: Frame.Pointer) {
    let mode = frame.pointee.mode
    state.counters.signals.count(frame.pointee.batch.calledCount)
    frame.pointee.batch.jobs = JobCursor()
    frame.pointee.batch.dropTaken()
    if frame.pointee.batch.isEmpty { return }
    var newer = Buffer<Entry>()
    while true {
      state.gate.lock()
      if mode.state.signalled.isEmpty { break }
      swap(&newer, &mode.state.signalled)
      state.gate.unlock()
      for entry in newer.elements where !frame.pointee.batch.entries.append(entry) {
        // Out of memory: without its place in the queue a signal must not stand in the way of later ones.
        mode.signalled(entry)?.cell.reference.clear(Reference.Mark.ofSignal)
      }
      newer.removeAll()
    }
    swap(&frame.pointee.batch.entries, &mode.state.signalled)
    mode.state.signalsAreMixed = true
    mode.noteSignalledCount()
    state.gate.unlock()
    newer.free()
  }
}

/// SRC0-7: the order of the sources that a pass performs.
extension Loop {
  /// Sorts what was collected, without what is stale. Without memory it stays as it is.
  @inline(never)
  func putInOrder(_ frame: Frame.Pointer) {
    let mode = frame.pointee.mode
    frame.pointee.batch.sorted.removeAll()
    // An order is in the source's context. What is a member stays one while the lock is held, and so keeps it.
    lock()
    defer { unlock() }
    for entry in frame.pointee.batch.entries.elements {
      guard let item = mode.signalled(entry) else { continue }
      let keyed = StableSort.Keyed(key: item.order, second: item.signalTime, value: entry.first)
      if !frame.pointee.batch.sorted.append(keyed) { return }
    }
    guard StableSort.sort(&frame.pointee.batch.sorted, with: &frame.pointee.batch.sortingRoom) else { return }
    frame.pointee.batch.entries.removeAll()
    var last = Entry(first: 0, second: 0)
    for element in frame.pointee.batch.sorted.elements {
      let entry = Entry(first: element.value, second: element.second)
      // Who signalled it and who added it to the mode may both have queued it.
      if entry.first == last.first { continue }
      _ = frame.pointee.batch.entries.appendInRoom(entry)
      last = entry
    }
  }
}
