// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Which thread waits for which. A thread waits for one other at a time, so the graph is a forest, and whoever
/// would close a cycle finds itself at the end of a walk: it is refused, instead of a hang (PERF-7).
enum WaitGraph {
  private static var gate: UnsafeMutablePointer<Gate> {
    treadle_system_wait_guard().assumingMemoryBound(to: Gate.self)
  }

  /// Runs `body`, in which the calling thread waits for something that `target` does. A wait that ends by
  /// itself is refused like any other if it could only fail, but does not stand in the way of others.
  static func waiting(
    for target: Thread, isEndless: Bool, _ body: () throws(Failure) -> Void
  ) throws(Failure) {
    let caller = try Thread.current()
    gate.pointee.lock()
    var next = Thread(slot: target.state.pointee.slot)
    while let thread = next, thread.state != caller.state { next = Thread(slot: thread.state.pointee.waitsFor) }
    let isCycle = next != nil
    if !isCycle && isEndless { caller.state.pointee.waitsFor = target.state.pointee.slot }
    gate.pointee.unlock()
    if isCycle { throw Failure(Status.deadlock, "thread", "waits for the calling one") }
    defer { if isEndless { endWait(of: caller) } }
    try body()
  }

  /// The wait of a thread is over: said by whoever ends it, before the thread can know, since it may be long until
  /// that runs again and nobody must take it for waiting meanwhile.
  static func endWait(of thread: Thread) {
    gate.pointee.lock()
    thread.state.pointee.waitsFor = 0
    gate.pointee.unlock()
  }
}
