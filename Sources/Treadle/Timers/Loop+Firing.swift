// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// PASS-12: firing the due timers that a pass has collected, one after the other, with nothing else in between
/// (TMR-12).
extension Loop {
  /// Calls the timer that the frame's callout names, and those behind it. The end of one and the beginning of the
  /// next are one step under the loop's lock, where both are plain.
  func fireTimers(_ frame: UnsafeMutablePointer<Frame>) {
    guard var item = frame.pointee.callout.item else { return }
    while true {
      callPlainItem(item, frame)
      // The rest is `advance`'s.
      if mustEnd(frame) { return }
      frame.pointee.callout.set(.none)
      let mode = frame.pointee.mode
      guard item.isPlainOneShot, let queue = mode.state.pointee.queue else {
        settleTimer(item)
        // A release in there may have called the client, who may end everything.
        if mustEnd(frame) || !nextTimer(frame) { return }
        guard let next = frame.pointee.callout.item else { return }
        item = next
        continue
      }
      let lock = mutex
      lock.lockInline()
      let isOver = item.finishQuickly(mode)
      let next = isOver ? mode.takeTimerLocked(&frame.pointee.timers, queue) : nil
      lock.unlockInline()
      if isOver { item.dropTwice() } else { settleTimer(item) }
      if let next {
        next.retainForCall()
        frame.pointee.callout.setItem(.timer, next)
        item = next
      } else if isOver || mustEnd(frame) || !nextTimer(frame) {
        return
      } else if let next = frame.pointee.callout.item {
        item = next
      }
    }
  }

  /// The next due timer of the batch, in the frame's callout; false at its end.
  @inline(__always)
  func nextTimer(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard !frame.pointee.timers.isOver, let item = frame.pointee.mode.takeTimer(&frame.pointee.timers) else {
      return false
    }
    item.retainForCall()
    frame.pointee.callout.setItem(.timer, item)
    return true
  }

  /// What follows a timer's callback.
  func settleTimer(_ item: Item) {
    item.releaseAfterCall()
    item.finishFiring()
    item.drop()
  }
}

extension Item {
  /// A one-shot that ends with this callback, of which nothing else is to be known.
  @inline(__always)
  fileprivate var isPlainOneShot: Bool { flags == Flag.valid | Flag.once | Flag.running && context == nil }

  /// Ends a plain one-shot, as `finishFiring` does. The loop's lock is held. False if it has become something else
  /// meanwhile; otherwise the mode's reference and that of the callback are the caller's to drop.
  @inline(__always)
  fileprivate func finishQuickly(_ mode: Mode) -> Bool {
    guard isIn(mode), exchangeFlags(Flag.valid | Flag.once | Flag.running, Flag.once) else { return false }
    exitQuickly(mode)
    return true
  }

  @inline(__always)
  fileprivate func dropTwice() {
    if cell.pointee.reference.release(2) { destroyTimer() } else { announceIfAwaited() }
  }
}
