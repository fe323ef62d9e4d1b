// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// That one thread waits for something which another does. Lies on the waiter's stack or in its call, and is
/// linked into the waiter's list while the wait lasts. Guarded by the wait gate then.
struct WaitEdge: ~Copyable {
  /// The wait that was going on when this one began: one that runs the loop meanwhile.
  var outer: UnsafeMutablePointer<WaitEdge>? = nil
  /// Numbers the waits of the process; 0 outside of the list.
  var serial: UInt64 = 0
  /// Who is to do it: the slot of a thread, or with 0 the thread of a loop, which may have no object yet.
  private var thread: UInt32 = 0
  private var loop: UnsafeMutablePointer<LoopState>? = nil
  /// Calls of it on other threads are to end: then nobody in particular is to do it.
  private(set) var rest: RestTarget? = nil
  /// The waiter's when the wait began.
  var stack: ThreadStack? = nil
  /// A loop that runs in the call mode does it.
  var isAdmitted = false
  /// A host's, whose end is the wait's: others look at it before the waiter runs again. The wait keeps its memory.
  private var word: UnsafePointer<Completion>? = nil
  /// A host's wait that ends soon and that the host repeats: code of a scope waits by it for what may end with the
  /// scope. The end of the scope is not refused for it; the next wait of the waiter is, if nothing has ended.
  private(set) var isLook = false
  /// The waiter runs its loop in the call mode meanwhile.
  private(set) var runsLoop = false
  /// The number of the other thread's last wait when it began with it, at least 1; 0 while it is queued,
  /// `WaitEdge.over` when it is over. Atomic: the other thread writes it, who knows nothing else of the edge. Relaxed:
  /// it publishes nothing else. The gate orders the lists, and the end of the wait releases, so the edge's memory
  /// outlives the last store.
  private let begun = Atomic<UInt64>(0)
  /// The last walk that came here, and what else that has to look at.
  var walk: UInt64 = 0
  var nextOfWalk: UnsafeMutablePointer<WaitEdge>? = nil

  init() {}

  private static let over = UInt64.max

  /// The calling thread, which is to do it, begins. The edge's memory is there, because its waiter is.
  func markBegun() { begun.store(max(treadle_system_thread().pointee.last_wait, 1), ordering: .relaxed) }
  /// It is over: said before the waiter can know, since it may be long until that runs again and nobody must take it
  /// for waiting meanwhile. Its thread unlinks the edge when it runs.
  func markOver() { begun.store(WaitEdge.over, ordering: .relaxed) }

  var isOver: Bool {
    begun.load(ordering: .relaxed) == WaitEdge.over || word?.pointee.isOver == true || isDropped
  }
  /// What is queued for a loop is dropped by a shutdown, and so are waits for room in a port; a host looks itself.
  private var isDropped: Bool {
    loop != nil && word == nil && begun.load(ordering: .relaxed) == 0 && treadle_system_is_closed()
  }
  /// Waits of the other thread up to this number are none of this one's.
  var lastBefore: UInt64 { begun.load(ordering: .relaxed) }

  /// The waiter holds the thread, or the loop, until the wait is over.
  init(for thread: Thread) { self.thread = thread.state.slot }

  init(for loop: Loop, isAdmitted: Bool, runsLoop: Bool) {
    self.loop = loop.address
    self.runsLoop = runsLoop
    self.isAdmitted = isAdmitted
  }

  init(for loop: Loop, ending word: UnsafePointer<Completion>, isAdmitted: Bool, isLook: Bool) {
    self.loop = loop.address
    self.word = word
    self.isAdmitted = isAdmitted
    self.isLook = isLook
  }

  init(for rest: RestTarget) { self.rest = rest }

  /// Whether the wait is inside of a call of what another one waits for.
  func isInside(of rest: RestTarget) -> Bool {
    guard var stack else { return false }
    return withUnsafePointer(to: &stack) { rest.isOn(rest.word, UnsafeRawPointer($0)) }
  }

  /// Nil while the thread has no object: then it waits for nobody. Relaxed: a walk reads the object under the wait
  /// gate, which the object's creation takes before its slot is stored (`WaitGraph.clearWaits`).
  var target: Thread? {
    if thread != 0 { return Thread(slot: thread) }
    guard let loop else { return nil }
    return Thread(slot: loop.pointee.thread.load(ordering: .relaxed))
  }
}

/// A wait that is in a thread's list, for those who end it: harmless when it has ended already, and its memory is gone.
struct WaitToken {
  /// The slot of the thread that waits; 0: none does.
  var thread: UInt32 = 0
  var serial: UInt64 = 0
}

/// A completion with what the wait graph knows of the only one who waits for it; on his stack.
struct Waiter: ~Copyable {
  let completion = Completion()
  /// What others write meanwhile is on another cache line than the word, at which the waiter looks all the time.
  private let restOfLine: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
  var edge = WaitEdge()
  /// The waiting thread's errno, and that of the function when it is over.
  var errno = treadle_system_errno()
}
