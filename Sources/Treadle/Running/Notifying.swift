// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

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
    let mode = frame.pointee.mode
    if frame.pointee.sweep == nil {
      frame.pointee.sweep = mode.beginNotification()
      frame.pointee.sweepIndex = 0
    }
    guard let sweep = frame.pointee.sweep else { return false }
    while let entry = sweep.pointee.entries[frame.pointee.sweepIndex] {
      frame.pointee.sweepIndex &+= 1
      guard entry.activities & activity != 0,
        let item = Mention(bits: entry.mention).item(.observer, in: mode),
        item.cell.pointee.reference.retain(generation: item.generation)
      else { continue }
      if item.beginRunning() {
        if !item.hasFlag(Item.Flag.once) || item.setFlag(Item.Flag.spent) & Item.Flag.spent == 0 {
          frame.pointee.callout.setItem(.observer, item, value: activity)
          return true
        }
        item.endRunning()
      }
      item.drop()
    }
    endNotification(frame)
    return false
  }

  func endNotification(_ frame: UnsafeMutablePointer<Frame>) {
    guard let sweep = frame.pointee.sweep else { return }
    frame.pointee.sweep = nil
    frame.pointee.mode.endNotification(sweep)
  }
}
