// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization

/// A queue with many producers and one consumer at a time, the thread that has the turn. The append that finds the turn
/// free gets it, and has it until `endTurn` finds the queue empty.
///
/// Never locks: a stack of nodes that is taken as a whole, so that no node is seen again by a late comparison.
struct TurnQueue<Element>: ~Copyable, @unchecked Sendable {
  private struct Node {
    let element: Element
    var next: UnsafeMutablePointer<Node>?
  }

  /// Nobody has the turn, and nothing is queued.
  private static var idle: UInt { 0 }
  /// Somebody has the turn, and nothing is queued.
  private static var taken: UInt { 1 }

  /// `idle`, `taken`, or the node that was appended last, while somebody has the turn.
  private let last = Atomic<UInt>(0)

  private static func node(_ bits: UInt) -> UnsafeMutablePointer<Node>? {
    UnsafeMutablePointer(bitPattern: bits & ~taken)
  }

  /// Appends. Any thread.
  /// - Returns: whether the caller has the turn now.
  func append(_ element: Element) -> Bool {
    let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
    node.initialize(to: Node(element: element, next: nil))
    var seen = last.load(ordering: .relaxed)
    while true {
      node.pointee.next = TurnQueue.node(seen)
      let (exchanged, found) = last.weakCompareExchange(
        expected: seen, desired: UInt(bitPattern: node), ordering: .acquiringAndReleasing)
      if exchanged { return seen == TurnQueue.idle }
      seen = found
    }
  }

  /// Takes what is there now, in the order of appending; what `body` appends waits for the next time. Called by
  /// the thread that has the turn.
  func takeAll(_ body: (Element) -> Void) {
    var newest = TurnQueue.node(last.exchange(TurnQueue.taken, ordering: .acquiringAndReleasing))
    var oldest: UnsafeMutablePointer<Node>?
    while let node = newest {
      newest = node.pointee.next
      node.pointee.next = oldest
      oldest = node
    }
    while let node = oldest {
      oldest = node.pointee.next
      let element = node.move().element
      node.deallocate()
      body(element)
    }
  }

  /// Gives the turn up, unless something is queued. Whoever has the turn.
  /// - Returns: whether it is given up.
  func endTurn() -> Bool {
    last.compareExchange(expected: TurnQueue.taken, desired: TurnQueue.idle, ordering: .acquiringAndReleasing).exchanged
  }

  deinit { takeAll { _ in } }
}
