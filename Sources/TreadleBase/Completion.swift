// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// Something whose end threads wait for: a request, a call that is carried to a loop, room in a queue, a thread that
/// gets ready, a host's future. It ends once, with an outcome; a thread that has seen the end sees what was written
/// before it. One word, a futex; all-zero bytes are one that is open. All that threads agree on is in this word, whose
/// changes have one order: so its operations only have to release what was written before the end, and to acquire that.
package struct Completion: ~Copyable {
  private static let open: UInt32 = 0
  /// Open, and somebody sleeps.
  private static let awaited: UInt32 = 1
  /// The first outcome: those that tell more follow.
  @inline(__always)
  package static var over: UInt32 { 2 }

  private let word: Atomic<UInt32>

  package init() { word = Atomic(Completion.open) }

  /// Open again: nobody knows of it.
  package func reset() { word.store(Completion.open, ordering: .relaxed) }

  @inline(__always)
  package var isOver: Bool { word.load(ordering: .acquiring) >= Completion.over }
  /// For a thread that has seen `isOver`, which acquires.
  @inline(__always)
  package var outcome: UInt32 { word.load(ordering: .relaxed) }

  /// Ends it. Its memory may be gone as soon as the outcome is there: all that follows is a wake-up of its address,
  /// which at worst wakes somebody for no reason.
  @inline(__always)
  package borrowing func end(_ outcome: UInt32 = Completion.over) {
    let address = Futex.address(of: word)
    if word.exchange(outcome, ordering: .releasing) == Completion.awaited { Futex.wake(address, Int32.max) }
  }

  /// Ends one that several may end, of which the first counts. The caller keeps the memory.
  package borrowing func endFirst(_ outcome: UInt32) {
    var now = word.load(ordering: .relaxed)
    while now < Completion.over {
      let (isFirst, original) = word.compareExchange(expected: now, desired: outcome, ordering: .releasing)
      if isFirst {
        if now == Completion.awaited { Futex.wake(Futex.address(of: word), Int32.max) }
        return
      }
      now = original
    }
  }

  /// Ends it if nobody waits for it; false if somebody does, or it is over.
  package borrowing func endUnlessAwaited() -> Bool {
    word.compareExchange(expected: Completion.open, desired: Completion.over, ordering: .releasing).exchanged
  }

  /// Waits until it is over, or a time has passed; with a `spin`, which adapts to the thread that ends it, looks for
  /// the end a little before it sleeps. `isRepeated`: false for one sleep at most, which a signal ends too.
  package borrowing func wait(_ spin: UnsafeMutablePointer<AdaptiveSpin>?, until: Int64, isRepeated: Bool = true) {
    if isOver { return }
    if let spin, spin.pointee.isElsewhere, spin.pointee.spin(limit: until, { isOver }) { return }
    let start = spin?.pointee.sleepBegins() ?? 0
    // Releases what the waiter tells of its wait (`Turnstile`).
    _ = word.compareExchange(expected: Completion.open, desired: Completion.awaited, ordering: .releasing)
    while !isOver {
      Futex.wait(word, while: Completion.awaited, until: until)
      if !isRepeated || until != Clock.forever && Clock.now() >= until { break }
    }
    spin?.pointee.sleepEnded(since: start)
  }

  /// The only one who waits waits no longer; false if it is over, which `isOver` acquires.
  package borrowing func stopWaiting() -> Bool {
    word.compareExchange(expected: Completion.awaited, desired: Completion.open, ordering: .relaxed).exchanged
  }
}
