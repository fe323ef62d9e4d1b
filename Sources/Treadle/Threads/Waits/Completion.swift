// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Something whose end threads wait for: a request, a call that is carried to a loop, room in a queue, a thread that gets
/// ready, a host's future. It ends once, with an outcome; what was written before is seen by whoever has seen the end. One
/// word, a futex; all-zero bytes are one that is open.
struct Completion: ~Copyable {
  private static let open: UInt32 = 0
  /// Open, and somebody sleeps.
  private static let awaited: UInt32 = 1
  /// The first outcome: those that tell more follow.
  static let over: UInt32 = 2

  private let word: Atomic<UInt32>

  init() { word = Atomic(Completion.open) }

  /// Open again: nobody knows of it.
  func reset() { word.store(Completion.open, ordering: .relaxed) }

  @inline(__always)
  var isOver: Bool { word.load(ordering: .sequentiallyConsistent) >= Completion.over }
  /// Once it is over.
  @inline(__always)
  var outcome: UInt32 { word.load(ordering: .acquiring) }

  /// Ends it. Its memory may be gone as soon as the outcome is there: all that follows is a wake-up of its address, which at
  /// worst wakes somebody for no reason.
  @inline(__always)
  borrowing func end(_ outcome: UInt32 = Completion.over) {
    let address = Futex.address(of: word)
    if word.exchange(outcome, ordering: .sequentiallyConsistent) == Completion.awaited { Futex.wake(address, Int32.max) }
  }

  /// The same for one that several may end, of which the first counts. The caller keeps the memory.
  borrowing func endFirst(_ outcome: UInt32) {
    var now = word.load(ordering: .acquiring)
    while now < Completion.over {
      let (isFirst, original) = word.compareExchange(expected: now, desired: outcome, ordering: .sequentiallyConsistent)
      if isFirst {
        if now == Completion.awaited { Futex.wake(Futex.address(of: word), Int32.max) }
        return
      }
      now = original
    }
  }

  /// The same if nobody waits for it; false if somebody does, or it is over.
  borrowing func endUnlessAwaited() -> Bool {
    word.compareExchange(expected: Completion.open, desired: Completion.over, ordering: .sequentiallyConsistent).exchanged
  }

  /// Waits until it is over, or a time has passed. Who waits for a loop looks for its answer a little before it sleeps.
  @inline(__always)
  borrowing func wait(for loop: Loop?, until: Int64) { wait(for: loop, until: until, isRepeated: true) }

  /// The same, but for one sleep at most, which a signal ends too.
  borrowing func waitOnce(for loop: Loop, until: Int64) { wait(for: loop, until: until, isRepeated: false) }

  private borrowing func wait(for loop: Loop?, until: Int64, isRepeated: Bool) {
    if isOver { return }
    if let loop, loop.state.pointee.answers.isElsewhere, loop.state.pointee.answers.spin(limit: until, { isOver }) { return }
    let start = loop?.state.pointee.answers.sleepBegins() ?? 0
    _ = word.compareExchange(expected: Completion.open, desired: Completion.awaited, ordering: .sequentiallyConsistent)
    while !isOver {
      Futex.wait(word, while: Completion.awaited, until: until)
      if !isRepeated || until != Clock.forever && Clock.now() >= until { break }
    }
    loop?.state.pointee.answers.sleepEnded(since: start)
  }

  /// The only one who waits waits no longer; false if it is over.
  borrowing func stopWaiting() -> Bool {
    word.compareExchange(expected: Completion.awaited, desired: Completion.open, ordering: .sequentiallyConsistent).exchanged
  }
}

/// A completion with what the wait graph knows of the only one who waits for it; on his stack.
struct Waiter: ~Copyable {
  let completion: Completion
  /// What others write meanwhile is on another cache line than the word, at which the waiter looks all the time.
  private let restOfLine: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  var edge: WaitEdge

  init(_ edge: consuming WaitEdge) {
    completion = Completion()
    restOfLine = (0, 0, 0, 0, 0, 0, 0)
    self.edge = edge
  }
}
