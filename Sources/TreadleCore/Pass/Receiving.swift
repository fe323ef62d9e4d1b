// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// PASS-12 for ports: one message of one port a pass (PORT-6).
///
/// Ports and descriptors take turns, so that none is passed over twice for the same other one: all ports that are ready
/// when their turn begins are served once each, then all descriptors that one look at the kernel reports.
extension Loop {
  /// What of both the pass performs. The kernel is asked once for each turn of the ports.
  @inline(never)
  func openPortOrDescriptor(_ frame: Frame.Pointer) -> Bool {
    let mode = frame.pointee.mode
    if let poller = mode.poller, !mode.isPortsTurn {
      if poller.hasEvents || !mode.state.lastWasDescriptors && !frame.pointee.asked && askForDescriptors(frame) {
        mode.state.lastWasDescriptors = true
        frame.pointee.batch.open(.descriptor)
        return true
      }
    }
    mode.state.lastWasDescriptors = false
    frame.pointee.batch.open(.port)
    return true
  }

  /// The one message of the pass.
  @inline(__always)
  func nextMessage(_ frame: Frame.Pointer) -> Bool {
    if frame.pointee.callout.item != nil {
      settleMessage(frame)
      return closeBatch(frame)
    }
    let mode = frame.pointee.mode
    while !mustEnd(frame), case (let item, let member)? = mode.callReadyPort(self) {
      frame.pointee.callout.prepare(item)
      if isLeftToHost(item, frame) {
        leaveToHost(frame)
        break
      }
      guard item.isValid, let message = item.takeMessage() else {
        mode.withdrawPort(member, self)
        settleItem(frame)
        continue
      }
      if !item.hasMessages { mode.withdrawPort(member, self) }
      frame.pointee.handled = true
      state.counters.messages.count()
      mode.state.lastWasTimers = false
      frame.pointee.callout.set(.message, item, message)
      return true
    }
    return closeBatch(frame)
  }

  /// The callback has returned: the message goes, unless the client retains it. With it ports may end, and so call the
  /// client; who closes the port waits for that too.
  @inline(__always)
  func settleMessage(_ frame: Frame.Pointer) {
    if let message = frame.pointee.callout.takeMessage() {
      message.drop()
      // In the child of a fork the lock may be held for ever.
      if isOfParent { return }
    }
    settleItem(frame)
  }

  /// A port that is the frame's callout, with its message.
  @inline(__always)
  func callPort(_ frame: Frame.Pointer) -> Bool {
    beginCall()
    guard let item = frame.pointee.callout.item, let message = frame.pointee.callout.message else { return true }
    if item.hasTrait(Item.Trait.indirect) {
      callIndirectly(item, frame)
    } else if let code = item.code {
      typealias Plain = @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Plain.self)(item.handlePointer, message.handlePointer, item.cell.info)
    }
    return !wasLeftByFork(frame)
  }
}

extension Message {
  /// The message of the calling thread's innermost callback, if a client's handle means that.
  @inline(__always)
  package static func received(_ handle: UInt) -> Message? {
    guard let message = Loop.existing?.frame?.pointee.callout.message, message.handle.bits == handle else { return nil }
    return message
  }
}
