// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import Synchronization

/// A port's slot. In an alias it says whether that membership is among the ready ones of its mode; the queue is the
/// primary's.
package struct PortCell: ~Copyable {
  package let item: ItemCell
  /// Neighbours among the ready ports of the mode, and whether this is one: not of a cell that is in no mode, whatever
  /// was in it before. Gate of the loop.
  package var readyBefore: UInt32
  package var readyAfter: UInt32
  package var isReady: Bool
  private let restOfLine: UInt64
  package var queue: Queue

  /// The messages that wait, and who waits for room. Of its gate the port's senders and receivers hold nothing for
  /// longer than it takes to link one of either.
  package struct Queue: ~Copyable {
    package let gate: Gate
    /// How many messages there may be. Constant.
    package var capacity: UInt32
    /// How many there are. Written under the gate, from 0 by an exchange; read anywhere.
    package let count: Atomic<UInt32>
    /// The slots of the first and the last. Gate.
    package var first: UInt32
    package var last: UInt32
    /// Threads that wait for room, in the order in which they came: none of them while there is room. Gate.
    package var firstWaiter: UnsafeMutablePointer<RoomWaiter>?
    package var lastWaiter: UnsafeMutablePointer<RoomWaiter>?
  }
}

/// A thread that waits until there is room for its message in a port; on its stack. Guarded by the gate of the port's
/// queue, while it is in the list there.
package struct RoomWaiter: ~Copyable {
  /// A futex: how often it was to look again, times 4, and what has come of it. Written under the gate.
  package let word = Atomic<UInt32>(0)
  /// The slot of its message.
  package let message: UInt32
  package var before: UnsafeMutablePointer<RoomWaiter>? = nil
  package var after: UnsafeMutablePointer<RoomWaiter>? = nil
  /// It is to be woken, and was not yet.
  private var isPoked = false
  /// What others know of the wait, and who tells them that it is over: he stores a word, and no more.
  package var edge: UnsafeMutableRawPointer? = nil
  package var markOver: (@convention(c) (UnsafeMutableRawPointer?) -> Void)? = nil

  package init(message: UInt32) { self.message = message }

  package enum Outcome {
    package static let waits: UInt32 = 0
    /// The message was queued.
    package static let sent: UInt32 = 1
    /// The port is invalid, or gone.
    package static let closed: UInt32 = 2
    package static let all: UInt32 = 3
    static let again: UInt32 = 4
  }

  /// Has the thread look again at who receives: to be woken.
  package mutating func poke() {
    isPoked = true
    word.add(Outcome.again, ordering: .releasing)
  }
  /// Whether it is to be woken, by the caller.
  package mutating func takePoke() -> Bool {
    let wasPoked = isPoked
    isPoked = false
    return wasPoked
  }

  /// It is in the list no more: when the outcome is there its memory may be gone.
  package func end(_ outcome: UInt32) {
    markOver?(edge)
    word.bitwiseOr(outcome, ordering: .releasing)
  }
}
