// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The straight ways of timers, for the most frequent of what the quick ways do (`Timer+Quick`): the loop's lock is free,
/// the date is not at hand, and so on. They call no other function but where they give up, so that the compiler has all in
/// registers and nothing to save; they are a part of the exported functions for the same reason. What they are right
/// about is said at the quick ways, which do what they leave.
extension Item {
  package enum Straight {
    case done
    /// Nothing was done, but that the loop's lock was taken: the caller goes on from there.
    case locked
    case no
  }

  /// A one-shot with nothing but a plain callback in the default mode of a loop that is the calling thread's; its handle
  /// goes to `out`, if there is one.
  @inline(__always)
  package static func scheduleStraight(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, date: Int64, on loop: Loop,
    out: UnsafeMutablePointer<OpaquePointer?>?
  ) -> Straight {
    guard loop.isAlive, let mode = loop.defaultMode, let queue = mode.state.pointee.queue,
      loop.mutex.tryToLockInline()
    else { return .no }
    guard queue.pointee.isFar(date),
      let (slot, memory) = loop.state.pointee.timerStock.takeAtHand(
        Slab(.timer), own: 1, clients: out == nil ? 0 : 1)
    else { return .locked }
    let item = Item(.timer, slot, memory)
    item.begin(code: code, info: info)
    item.setTimerMode(mode.slot)
    item.timer.pointee.date = date
    queue.pointee.insertFar(item, date)
    mode.noteEntry(date)
    item.cell.pointee.flags.store(Flag.valid | Flag.once, ordering: .releasing)
    out?.pointee = item.handlePointer
    loop.mutex.unlockInline()
    return .done
  }

  /// `discardQuickly` of one that is valid, in the default mode of the calling thread's loop.
  @inline(__always)
  package static func discardStraight(_ timer: UInt) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = locate(handle), let (mode, loop) = item.lockOwnDefaultModeIfFree() else { return false }
    guard item.isIn(mode), let queue = mode.state.pointee.queue, queue.pointee.isInChain(item),
      loop.state.pointee.timerStock.hasRoom, item.endPlain(handle)
    else {
      loop.mutex.unlockInline()
      return false
    }
    queue.pointee.removeFromChain(item)
    item.exitQuickly(mode)
    item.cell.pointee.flags.store(0, ordering: .relaxed)
    loop.state.pointee.timerStock.putAtHand(Slab(.timer), item.slot, UnsafeMutableRawPointer(item.cell))
    loop.mutex.unlockInline()
    return true
  }

  /// `setDateInOneMode`, to a later date, in that mode.
  @inline(__always)
  package static func postponeStraight(_ timer: UInt, _ date: Int64) -> Bool {
    let handle = Handle(bits: timer)
    guard let item = locate(handle), let (mode, loop) = item.lockOwnDefaultModeIfFree() else { return false }
    let isDone =
      item.isIn(mode) && item.generation == handle.generation && item.canMoveQuickly
      && mode.state.pointee.queue?.pointee.postpone(item, to: date) == true
    loop.mutex.unlockInline()
    return isDone
  }

  /// If this is in the default mode of the calling thread's loop, and nobody has that loop's lock: takes it. From here on
  /// that mode keeps whatever timer is still in it.
  @inline(__always)
  private func lockOwnDefaultModeIfFree() -> (Mode, Loop)? {
    guard let loop = Loop.existing, let mode = loop.defaultMode, isIn(mode), loop.mutex.tryToLockInline() else {
      return nil
    }
    return (mode, loop)
  }
}
