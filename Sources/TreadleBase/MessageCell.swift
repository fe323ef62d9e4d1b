// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import Synchronization

/// A message's slot. What it carries is written before anybody else knows of it, and constant then, but for descriptors
/// that are taken out and what its end gives back.
package struct MessageCell: ~Copyable {
  package let reference: Reference
  /// The next in a port's queue, or among those that end on a thread. Of whom guards that list.
  package var next: UInt32
  package var id: UInt32
  /// How many parts it has.
  package var count: UInt32
  /// Of the bytes in `room`, which are the only part then.
  package var length: UInt32
  /// The handles of the port that it was sent to, and of the one where an answer goes; 0: none. A reference to the
  /// latter.
  package var port: UInt
  package var reply: UInt
  /// The parts, with their bytes behind them; nil: there is none, or it lies in `room`.
  package var parts: UnsafeMutablePointer<MessagePart>?
  package var room: Room

  package typealias Room = (
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
  )
}

/// One part of a message.
package struct MessagePart: ~Copyable {
  package let kind: UInt32
  /// A descriptor of the message's own; -1: none, or taken out. Atomic.
  package let descriptor: Atomic<Int32>
  package var bytes: UnsafeRawPointer?
  package var length: Int
  /// The handle of a port, to which the message has a reference; 0: none.
  package var port: UInt

  package init(kind: UInt32, descriptor: Int32, bytes: UnsafeRawPointer?, length: Int, port: UInt) {
    self.kind = kind
    self.descriptor = Atomic(descriptor)
    self.bytes = bytes
    self.length = length
    self.port = port
  }
}
