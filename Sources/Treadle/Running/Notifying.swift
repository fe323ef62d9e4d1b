// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Telling the observers of a mode of one activity, one callout at a time.
extension Loop {
  /// The next observer to call, in the frame's callout; false when all have been told. Who is told is
  /// fixed at the start; each is called if at its turn it is still valid, in the mode, and not running
  /// already (OBS-3 to OBS-6).
  @inline(__always)
  func notify(_ frame: UnsafeMutablePointer<Frame>, _ activity: UInt32, at step: Frame.Step) -> Bool {
    if frame.pointee.sweep == nil && !frame.pointee.mode.hasInterest(in: activity) { return false }
    frame.pointee.step = step
    return notifyInterested(frame, activity)
  }

  @inline(never)
  private func notifyInterested(_ frame: UnsafeMutablePointer<Frame>, _ activity: UInt32) -> Bool {
    if frame.pointee.sweep == nil {
      frame.pointee.sweep = frame.pointee.mode.beginNotification()
      frame.pointee.sweepIndex = 0
    }
    if let sweep = frame.pointee.sweep, frame.pointee.sweepIndex < sweep.pointee.entries.count {
      frame.pointee.callout.setNotification(activity)
      return true
    }
    endNotification(frame)
    return false
  }

  /// Calls what is left of the notification in progress, unless the run must end.
  @inline(never)
  func tellObservers(_ frame: UnsafeMutablePointer<Frame>) {
    let activity = frame.pointee.callout.value
    frame.pointee.callout.set(.none)
    while true {
      if frame.pointee.outer == nil {
        if !tellPlainObservers(frame, activity) { return unprotect() }
        if isToldToAll(frame) { return unprotectObserver() }
      }
      guard let item = takeObserver(frame, activity) else { return }
      frame.pointee.callout.setItem(.observer, item, value: activity)
      callWithValue(item, activity, frame)
      frame.pointee.callout.set(.none)
      // Protected until something else is, or nothing.
      if item.hasFlag(Item.Flag.once) { item.invalidate() }
      if frame.pointee.callout.isHeld { item.endCountedCall() }
      if mustEnd(frame) { return unprotect() }
    }
  }

  /// Whether the notification has come to its end, in a step after which only the next one follows: there it is ended at
  /// once. Elsewhere `notify` does it.
  @inline(__always)
  private func isToldToAll(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard let sweep = frame.pointee.sweep, frame.pointee.sweepIndex >= sweep.pointee.entries.count else { return false }
    switch frame.pointee.step {
    case .beforeTimers: frame.pointee.step = .beforeSources
    case .beforeSources: frame.pointee.step = .firstBlocks
    default: return true
    }
    endNotification(frame)
    return true
  }

  /// A whole notification of plain observers, in the outermost run. False if something is left to do for `advance`, which goes
  /// on at this step.
  @inline(__always)
  func tellQuietly(_ frame: UnsafeMutablePointer<Frame>, _ activity: UInt32, at step: Frame.Step) -> Bool {
    if !frame.pointee.mode.hasInterest(in: activity) { return true }
    frame.pointee.step = step
    guard let sweep = frame.pointee.mode.beginNotification() else { return true }
    frame.pointee.sweep = sweep
    frame.pointee.sweepIndex = 0
    let isOpen = tellPlainObservers(frame, activity)
    unprotectObserver()
    if !isOpen || mustEnd(frame) || frame.pointee.sweepIndex < sweep.pointee.entries.count { return false }
    endNotification(frame)
    return true
  }

  /// Calls one plain observer after the other, without a look at each, as long as none has come or gone: then those of the
  /// snapshot are valid and in the mode, and in the outermost run none is running. False if the run must end.
  @inline(__always)
  private func tellPlainObservers(_ frame: UnsafeMutablePointer<Frame>, _ activity: UInt32) -> Bool {
    guard let sweep = frame.pointee.sweep, let first = sweep.pointee.entries.elements.baseAddress else { return true }
    var entry = first + frame.pointee.sweepIndex
    let end = first + sweep.pointee.entries.count
    frame.pointee.callout.setNotification(activity)
    var isOver = false
    while entry < end && !isOver {
      if entry.pointee.activities & activity != 0 {
        guard let code = entry.pointee.code, let cell = entry.pointee.cell,
          protectObserver(Loop.tag(entry.pointee.handle)), isCurrentSweep(frame)
        else { break }
        let item = Item(.observer, entry.pointee.slot, UnsafeMutableRawPointer(cell))
        frame.pointee.callout.setNextObserver(item)
        unsafeBitCast(code, to: PlainItemWithValue.self)(
          OpaquePointer(bitPattern: entry.pointee.handle), activity, entry.pointee.info)
        if frame.pointee.callout.isHeld { endHeldCall(frame) }
        isOver = mustEnd(frame)
      }
      entry += 1
    }
    frame.pointee.sweepIndex = entry - first
    frame.pointee.callout.set(.none)
    return !isOver
  }

  /// No observer has come or gone since the notification began.
  @inline(__always)
  private func isCurrentSweep(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    frame.pointee.sweep?.pointee.changes == frame.pointee.mode.state.pointee.observerChanges.load(ordering: .acquiring)
  }

  /// A plain observer's callback has returned, in which there was another run.
  @inline(never)
  @_optimize(size)
  private func endHeldCall(_ frame: UnsafeMutablePointer<Frame>) {
    let activity = frame.pointee.callout.value
    frame.pointee.callout.set(.none)
    frame.pointee.callout.item?.endCountedCall()
    frame.pointee.callout.setNotification(activity)
  }

  /// The next observer to call, protected. Nil at the end, with nothing protected.
  @inline(__always)
  private func takeObserver(_ frame: UnsafeMutablePointer<Frame>, _ activity: UInt32) -> Item? {
    while let sweep = frame.pointee.sweep, let entry = sweep.pointee.entries[frame.pointee.sweepIndex] {
      frame.pointee.sweepIndex &+= 1
      if entry.activities & activity == 0 { continue }
      if let item = take(Mention(bits: entry.mention), frame) { return item }
      if mustEnd(frame) { break }
    }
    unprotectObserver()
    return nil
  }

  @inline(__always)
  private func take(_ mention: Mention, _ frame: UnsafeMutablePointer<Frame>) -> Item? {
    let mode = frame.pointee.mode
    guard let member = Item(.observer, slot: mention.slot) else { return nil }
    let item = member.primary
    if protect(item), mustEnd(frame) { return nil }
    // From here on it is protected, if it is a member still; an alias that is has been one of the same item throughout.
    guard mention.means(member, in: mode), item.noteCaller(self) else { return nil }
    let flags = item.cell.pointee.flags.load(ordering: .sequentiallyConsistent)
    if flags & (Item.Flag.valid | Item.Flag.running) != Item.Flag.valid { return nil }
    if flags & Item.Flag.once != 0 && item.setFlag(Item.Flag.spent) & Item.Flag.spent != 0 { return nil }
    return item
  }

  func endNotification(_ frame: UnsafeMutablePointer<Frame>) {
    guard let sweep = frame.pointee.sweep else { return }
    frame.pointee.sweep = nil
    ObserverSnapshot.release(sweep)
  }
}
