// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Where the caller of a queued call waits, not for its end, but for others to make room before it. Opened once, by
/// whatever thread. All-zero bytes are a closed one.
package struct Turnstile: ~Copyable {
  private enum Word {
    static let closed: UInt32 = 0
    static let open: UInt32 = 1
    /// Somebody waits, and `token` says who.
    static let awaited: UInt32 = 2
  }

  /// A futex.
  private let word: Atomic<UInt32>
  /// What the wait graph knows of the wait.
  private var token = WaitToken()

  package init() { word = Atomic(Word.closed) }

  package typealias Pointer = UnsafeMutablePointer<Turnstile>

  /// Waits until it is open; false when a time has passed before. Throws `Status.deadlock` when the thread of the call's
  /// loop waits for the calling one, in a way that keeps it from this call.
  package static func pass(_ turnstile: Pointer, of call: CarriedCall, until: Int64) throws(Failure) -> Bool {
    if turnstile.pointee.isOpen { return true }
    guard let loop = call.state.pointee.loop.map({ Loop(UnsafeMutableRawPointer($0)) }) else { return true }
    let caller = try Thread.current()
    var edge = WaitEdge(for: loop, isAdmitted: loop.admitsInCallMode(call.node), runsLoop: false)
    return try withUnsafeMutablePointer(to: &edge) { edge throws(Failure) in
      let token = try WaitGraph.begin(edge, of: caller, isEndless: until == Clock.forever)
      defer { WaitGraph.end(token) }
      turnstile.pointee.token = token
      return wait(turnstile, until: until)
    }
  }

  private static func wait(_ turnstile: Pointer, until: Int64) -> Bool {
    if !turnstile.pointee.change(from: Word.closed, to: Word.awaited) { return true }
    while true {
      // The word is the first member.
      _ = treadle_system_futex_wait(UnsafeMutableRawPointer(turnstile), Word.awaited, until)
      if turnstile.pointee.isOpen { return true }
      if treadle_system_is_closed_now() { return false }
      // From here on nobody tells the wait graph.
      if until != Clock.forever && Clock.now() >= until {
        return !turnstile.pointee.change(from: Word.awaited, to: Word.closed)
      }
    }
  }

  /// Lets who waits, or will wait, go on. The caller keeps the memory.
  package static func open(_ turnstile: Pointer) {
    if turnstile.pointee.change(from: Word.closed, to: Word.open) { return }
    if turnstile.pointee.isOpen { return }
    WaitGraph.end(turnstile.pointee.token)
    turnstile.pointee.word.store(Word.open, ordering: .sequentiallyConsistent)
    treadle_system_futex_wake(UnsafeMutableRawPointer(turnstile), 1)
  }

  private var isOpen: Bool { word.load(ordering: .sequentiallyConsistent) == Word.open }
  private func change(from old: UInt32, to new: UInt32) -> Bool {
    word.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent).exchanged
  }
}
