// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Where one thread waits for one event, once; on its own stack.
struct Waiter: ~Copyable {
  enum Outcome {
    static let done: UInt32 = 2
    /// The thread that was to do it has ended, or everything was shut down.
    static let dropped: UInt32 = 3
    /// A host's callback did not complete.
    static let failed: UInt32 = 4
  }
  private static let awake: UInt32 = 0
  private static let asleep: UInt32 = 1

  /// Awake, asleep, or the outcome. A futex.
  private let word: Atomic<UInt32>
  /// What others write meanwhile is on another cache line than the word, which the waiter looks at all the time.
  private let restOfLine: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  /// What the wait graph knows of the wait.
  var edge: WaitEdge

  init(_ edge: consuming WaitEdge) {
    word = Atomic(Waiter.awake)
    restOfLine = (0, 0, 0, 0, 0, 0, 0)
    self.edge = edge
  }

  /// Blocks until a loop has brought the outcome.
  static func wait(_ waiter: UnsafeMutablePointer<Waiter>, for loop: Loop) -> UInt32 {
    if loop.spin(until: { waiter.pointee.word.load(ordering: .acquiring) != awake }) {
      return waiter.pointee.word.load(ordering: .acquiring)
    }
    let start = loop.sleepBegins()
    _ = waiter.pointee.word.compareExchange(
      expected: awake, desired: asleep, ordering: .acquiringAndReleasing)
    while true {
      let now = waiter.pointee.word.load(ordering: .acquiring)
      if now != asleep {
        loop.sleepEnded(since: start)
        return now
      }
      _ = treadle_system_futex_wait(UnsafeMutableRawPointer(waiter), asleep, Clock.forever)
    }
  }

  /// The waiter may be gone as soon as the outcome is stored: all that follows is a wake-up of its address,
  /// which at worst wakes somebody for no reason.
  static func complete(_ waiter: UnsafeMutablePointer<Waiter>, _ outcome: UInt32) {
    waiter.pointee.edge.markOver()
    let before = waiter.pointee.word.exchange(outcome, ordering: .acquiringAndReleasing)
    if before == asleep { treadle_system_futex_wake(UnsafeMutableRawPointer(waiter), 1) }
  }
}
