// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import Synchronization
import TreadleBase

/// Looking out (`Lookouts.swift`) for what an item receives, from its callback.
extension Loop {
  /// For the item that the innermost run calls, in the mode of that run; takes over a reference to the object. False if
  /// the loop may not, or has enough to look at; a run that returns on interrupts always asks the kernel. Owner.
  package func lookOut(
    sent: UnsafeMutablePointer<Atomic<UInt32>>, received: UnsafeMutablePointer<Atomic<UInt32>>,
    object: UnsafeMutableRawPointer,
    handOver: @escaping Lookout.HandOver
  ) -> Bool {
    assertOwner()
    guard let frame, frame.pointee.flags & Frame.Flag.returnOnInterrupt == 0, let item = frame.pointee.callout.item
    else { return false }
    return addLookout(
      of: item, in: frame.pointee.mode, sent: sent, received: received, object: object, handOver: handOver)
  }
}
