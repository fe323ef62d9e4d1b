// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A word of a host's memory by which it makes an end known that threads wait for, as that of a future. A futex.
package struct HostWord {
  private static let open: UInt32 = 0
  private static let over: UInt32 = 1
  /// Open, and somebody sleeps.
  private static let awaited: UInt32 = 2

  private let address: UnsafeMutableRawPointer
  private var word: UnsafeMutablePointer<Atomic<UInt32>> { address.assumingMemoryBound(to: Atomic<UInt32>.self) }

  @_optimize(size)
  package init(_ word: UnsafeMutablePointer<UInt32>?) throws(Failure) {
    guard let word else { throw Failure(Status.argument, "word", "is NULL") }
    address = UnsafeMutableRawPointer(word)
    if UInt(bitPattern: address) & 3 != 0 { throw Failure(Status.argument, "word", "is not aligned") }
  }

  /// What was written before the end is seen by whoever saw the end: release here, acquire there.
  package func end() {
    Loop.existing?.noteAnswer()
    if word.pointee.exchange(HostWord.over, ordering: .releasing) == HostWord.awaited {
      treadle_system_futex_wake(address, Int32.max)
    }
  }

  /// Until the end, which is to come from this loop. A failure: the timeout, or a signal.
  @_optimize(size)
  package func wait(for loop: Loop, timeout: Int64) throws(Failure) {
    if !isOverAfterWait(loop, timeout) {
      throw Failure(Status.timeout, "timeout_ns", "passed, or a signal came, before the end")
    }
  }

  @_optimize(size)
  private func isOverAfterWait(_ loop: Loop, _ timeout: Int64) -> Bool {
    let until = Clock.after(timeout, from: Clock.now())
    if loop.spin(until: { isOver }, limit: until) { return true }
    let start = loop.sleepBegins()
    _ = word.pointee.compareExchange(
      expected: HostWord.open, desired: HostWord.awaited, ordering: .relaxed)
    // A wake-up for no reason ends it too: the host looks, and waits again.
    if !isOver { _ = treadle_system_futex_wait(address, HostWord.awaited, until) }
    loop.sleepEnded(since: start)
    return isOver
  }

  private var isOver: Bool { word.pointee.load(ordering: .acquiring) == HostWord.over }
}

extension Thread {
  /// The same for the loop of a thread. One that has finished since performs nothing any more, and ends no wait.
  @_optimize(size)
  package func wait(for word: HostWord, timeout: Int64) throws(Failure) {
    let loop = try holdLoop()
    defer { loop.letGo() }
    try word.wait(for: loop, timeout: timeout)
  }
}
