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

  /// The next observer to call: one that at its turn is still valid, in the mode, and not running already (OBS-3 to OBS-6).
  @inline(__always)
  func nextObserver(_ frame: Frame.Pointer) -> Bool {
    if let item = frame.pointee.callout.item { settleObserver(item, frame) }
    while !mustEnd(frame), let entry = frame.pointee.batch.takeFirst() {
      guard let member = Item(.observer, slot: entry.mention.slot) else { continue }
      let item = member.primary
      name(item)
      let generation = item.generation
      // The exchange that stands between naming the observer and looking whether it is a member.
      let isValid = item.cell.reference.exchange(generation, needs: Reference.Mark.valid, set: 0, clear: 0) != nil
      if dropLeft(naming: item) && mustEnd(frame) { break }
      guard isValid, entry.mention.means(member), member.isIn(frame.pointee.mode) else { continue }
      if item.hasState(Item.State.running | Item.State.spent) { continue }
      item.setState(item.hasTrait(Item.Trait.once) ? Item.State.running | Item.State.spent : Item.State.running)
      frame.pointee.callout.set(.observer, item, value: frame.pointee.batch.activity)
      return true
    }
    return closeBatch(frame)
  }

  /// What follows a callback.
  @inline(__always)
  private func settleObserver(_ item: Item, _ frame: Frame.Pointer) {
    item.endObserving()
    settleItem(frame)
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
