// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization

/// That one thread waits for something which another does. Lies on the waiter's stack or in its call, and is
/// linked into the waiter's list while the wait lasts. Guarded by the wait gate then.
struct WaitEdge {
  /// The wait that was going on when this one began: one that runs the loop meanwhile.
  var outer: UnsafeMutablePointer<WaitEdge>? = nil
  /// Numbers the waits of the process; 0 outside of the list.
  var serial: UInt64 = 0
  /// Who is to do it: the slot of a thread, or with 0 the thread of a loop, which may have no object yet.
  private var thread: UInt32 = 0
  private var loop: UnsafeMutablePointer<LoopState>? = nil
  /// A loop that runs in the call mode does it.
  var isAdmitted = false
  /// The waiter runs its loop in the call mode meanwhile.
  private(set) var runsLoop = false
  /// How many waits there had been when the other thread began with it; 0 while it is queued.
  var begun: UInt64 = 0
  /// The last walk that came here, and what else that has to look at.
  var walk: UInt64 = 0
  var nextOfWalk: UnsafeMutablePointer<WaitEdge>? = nil

  init() {}

  /// The waiter holds the thread, or the loop, until the wait is over.
  init(for thread: Thread) { self.thread = thread.state.pointee.slot }

  init(for loop: Loop, isAdmitted: Bool, runsLoop: Bool) {
    self.loop = loop.state
    self.runsLoop = runsLoop
    self.isAdmitted = isAdmitted
  }

  /// Nil while the thread has no object: then it waits for nobody.
  var target: Thread? {
    if thread != 0 { return Thread(slot: thread) }
    guard let loop else { return nil }
    return Thread(slot: loop.pointee.thread.load(ordering: .acquiring))
  }
}
