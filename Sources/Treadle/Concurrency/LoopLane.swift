// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// What all executors of one loop share: whether a job runs, and what becomes of the jobs when the loop's thread is
/// gone.
///
/// The invariant: at most one job of a lane runs at a time, and it runs on the loop's thread until the loop refuses a
/// post for good, and only in the lane's one task after that.
final class LoopLane: @unchecked Sendable {
  /// An object of the lane's own: that of a client may keep an executor, which keeps the lane.
  let loop: RunLoop
  /// Whether a job runs on the loop's thread. Touched on that thread alone.
  var isBusy = false
  /// Executors that have the turn, and wait for the end of a job that runs the loop itself. Touched on the loop's
  /// thread alone.
  var held: [LoopExecutor] = []
  /// Once true, never false again: the loop takes no posts any more, and no job runs on its thread.
  private let isGone = Atomic<Bool>(false)
  /// Executors whose jobs nobody runs but the lane's task, which has the turn.
  private let leftovers = TurnQueue<LoopExecutor>()
  /// How many executors there are. Guarded by the lock of all lanes.
  private var users = 0

  private init(_ loop: RunLoop) { self.loop = loop }

  // MARK: One lane a loop

  /// By the loop's handle, which no other loop ever gets.
  private static let lanes = Locked<[OpaquePointer: LoopLane]>([:])

  /// The lane of a loop, with one user more.
  static func join(_ loop: RunLoop) throws(TreadleError) -> LoopLane {
    try lanes.withLock { lanes throws(TreadleError) in
      let lane = if let known = lanes[loop.handle] { known } else { LoopLane(try RunLoop(retaining: loop.handle)) }
      lanes[loop.handle] = lane
      lane.users &+= 1
      return lane
    }
  }

  /// One user less. The last one's lane is forgotten: it has no jobs, since a task whose
  /// jobs wait holds their executor.
  func leave() {
    LoopLane.lanes.withLock { lanes in
      users &-= 1
      if users == 0 { lanes[loop.handle] = nil }
    }
  }

  // MARK: The loop's thread

  /// Whether the calling thread is the one where jobs run, as long as there is one.
  var isCurrent: Bool { treadle_loop_is_current(loop.handle) && !isKnownGone }

  /// Whether it was found out that the loop's thread is gone.
  var isKnownGone: Bool { isGone.load(ordering: .acquiring) }

  /// Asks the loop, by a post that does nothing. For threads that have entered no scope: a closed one refuses, too.
  var isLoopGone: Bool {
    var post = treadle_post()
    post.struct_size = MemoryLayout<treadle_post>.size
    post.fn = { _ in }
    post.flags = UInt32(TREADLE_POST_WITHOUT_WAKE)
    let status = treadle_loop_post_in(loop.handle, &post)
    return status == TREADLE_IGNORED || status == TREADLE_E_STALE
  }

  /// The kernel's id of the loop's thread.
  var description: String {
    var id: Int32 = 0
    _ = treadle_loop_get_thread_id(loop.handle, &id)
    return id == 0 ? "no thread" : "thread \(id)"
  }

  // MARK: When the thread is gone

  /// Has the lane's task run the jobs of an executor, which has the turn, from now on.
  func adopt(_ executor: LoopExecutor) {
    isGone.store(true, ordering: .releasing)
    if leftovers.append(executor) { Task.detached { await self.runLeftovers() } }
  }

  private func runLeftovers() async {
    repeat {
      leftovers.takeAll { executor in
        // The turn is this task's, so nobody else starts another one.
        if !executor.runLeftovers() { _ = leftovers.append(executor) }
      }
      await Task.yield()
    } while !leftovers.endTurn()
  }
}
