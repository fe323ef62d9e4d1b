// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// Where the caller of a queued call waits, not for its end, but for others to make room before it. Opened once, by
/// whatever thread. All-zero bytes are a closed one.
package struct Turnstile: ~Copyable {
  private let completion: Completion
  /// What the wait graph knows of the wait. Written before the wait begins; read by the thread that finds it begun.
  private var token = WaitToken()

  package init() { completion = Completion() }

  package typealias Pointer = UnsafeMutablePointer<Turnstile>

  /// Waits until it is open; false when a time has passed before, or everything was shut down. Throws `Status.deadlock`
  /// when the thread of the call's loop waits for the calling one, in a way that keeps it from this call.
  package static func pass(_ turnstile: Pointer, of call: CarriedCall, until: Int64) throws(Failure) -> Bool {
    if turnstile.pointee.completion.isOver { return true }
    // A call that the loop has taken has had room by then, and one that was cancelled needs none.
    guard let loop = call.queuedOn, let isAdmitted = loop.admitsInCallMode(queued: call.job) else { return true }
    let caller = try Thread.current()
    var edge = WaitEdge(for: loop, isAdmitted: isAdmitted, runsLoop: false)
    return try withUnsafeMutablePointer(to: &edge) { edge throws(Failure) in
      let token = try WaitGraph.begin(edge, of: caller)
      defer { WaitGraph.end(token) }
      turnstile.pointee.token = token
      while true {
        turnstile.pointee.completion.wait(loop.answers, until: until, isRepeated: false)
        if turnstile.pointee.completion.isOver { return true }
        // From here on nobody tells the wait graph.
        let isLate = until != Clock.forever && Clock.now() >= until
        if (isLate || treadle_system_is_closed_now()) && turnstile.pointee.completion.stopWaiting() { return false }
      }
    }
  }

  /// Lets who waits, or will wait, go on. The caller keeps the memory.
  package static func open(_ turnstile: Pointer) {
    if turnstile.pointee.completion.endUnlessAwaited() || turnstile.pointee.completion.isOver { return }
    // Before the waiter can know, since it may be long until that runs again.
    WaitGraph.end(turnstile.pointee.token)
    turnstile.pointee.completion.endFirst(Completion.over)
  }
}
