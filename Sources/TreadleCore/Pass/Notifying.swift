// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Telling the observers of a mode of one activity.
extension Loop {
  /// Opens a batch of those that are interested. Who is told is fixed here (OBS-3). False if there is nobody.
  @inline(__always)
  func notify(_ frame: Frame.Pointer, _ activity: UInt32) -> Bool {
    frame.pointee.mode.hasInterest(in: activity) && openNotification(frame, activity)
  }

  @inline(never)
  private func openNotification(_ frame: Frame.Pointer, _ activity: UInt32) -> Bool {
    let mode = frame.pointee.mode
    // Without memory nobody is told, and the next notification tries again.
    guard mode.state.observersInOrder.renew(of: mode) else { return false }
    frame.pointee.batch.entries.removeAll()
    for entry in mode.state.observersInOrder.entries.elements where entry.second & UInt64(activity) != 0 {
      if !frame.pointee.batch.entries.append(entry) { return closeBatch(frame) }
    }
    frame.pointee.batch.open(.observers)
    frame.pointee.batch.activity = activity
    return !frame.pointee.batch.isEmpty
  }

  /// The next observer to call: one that at its turn is still valid, in the mode, and not running already (OBS-3 to
  /// OBS-6). The end of one callback and the beginning of the next are one step under the lock, as of timers.
  @inline(__always)
  func nextObserver(_ frame: Frame.Pointer) -> Bool {
    if let item = frame.pointee.callout.item {
      item.endObserving()
      // The end of one that is told once calls the client. In the child of a fork the lock may be held for ever.
      if item.hasTrait(Item.Trait.once) && isOfParent { return false }
    }
    while true {
      lock()
      let dropped = endCallout(frame)
      let next = dropped != nil || mustEnd(frame) ? nil : takeObserver(frame)
      unlock()
      if let dropped {
        dropped.drop()
        if mustEnd(frame) { return closeBatch(frame) }
        continue
      }
      guard let next else { return closeBatch(frame) }
      frame.pointee.callout.set(.observer, next, value: frame.pointee.batch.activity)
      return true
    }
  }

  /// The lock is held.
  @inline(__always)
  private func takeObserver(_ frame: Frame.Pointer) -> Item? {
    assertHeld()
    while let entry = frame.pointee.batch.takeFirst() {
      guard let member = Item(.observer, slot: entry.mention.slot), entry.mention.means(member),
        member.isIn(frame.pointee.mode)
      else { continue }
      let item = member.primary
      if !item.isValid || item.hasState(Item.State.running | Item.State.spent) { continue }
      item.setState(item.hasTrait(Item.Trait.once) ? Item.State.running | Item.State.spent : Item.State.running)
      beginCalling(item)
      return item
    }
    return nil
  }
}

extension Item {
  /// An observer's callback is over: one that is told once ends.
  @inline(__always)
  func endObserving() {
    setState(0, clear: State.running)
    if hasTrait(Trait.once) { invalidate() }
  }
}
