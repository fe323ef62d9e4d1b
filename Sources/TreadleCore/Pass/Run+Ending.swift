// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Ends of runs out of turn: when no callback may begin any more, and what a run lets go of that is not gone on with.
extension Loop {
  /// No callback may begin any more: a host's failed, the run is to stop at once, everything was shut down, this is the
  /// child of a fork, or a client has left a run inside of this one.
  @inline(__always)
  func mustEnd(_ frame: Frame.Pointer) -> Bool {
    let bits = state.stop.load(ordering: .relaxed)
    if bits & (LoopState.Stop.failed | LoopState.Stop.atOnce) != 0, endsWithinPass(frame, bits) { return true }
    return treadle_system_open_tag() != state.goingOn
  }

  /// A stop at once is for the client's runs, and leaves them their Entry and Exit observers.
  @inline(never)
  private func endsWithinPass(_ frame: Frame.Pointer, _ bits: UInt32) -> Bool {
    if bits & LoopState.Stop.failed != 0 { return true }
    switch frame.pointee.step {
    case .enter, .entered, .left, .prepare: return false
    default: return frame.pointee.awaited == nil
    }
  }

  /// `LoopState.goingOn` while the innermost run is left between two calls of its host: no tag that there is.
  static let left = UInt32.max

  /// This is the child of a fork in a callback, and the loop is the parent's: it stays as it is, since other threads'
  /// locks may be held for ever (RL-11).
  var isOfParent: Bool { treadle_system_tag() != state.life }

  /// A callback of the run has returned: true in the child of a fork that was made in it. One look before anything
  /// else, unless everything was shut down, or a run was left inside of the callback, which ends here.
  @inline(__always)
  func wasLeftByFork(_ frame: Frame.Pointer) -> Bool {
    treadle_system_open_tag() != state.goingOn && (isOfParent || endsRunsLeft(inside: frame))
  }

  @inline(never)
  private func endsRunsLeft(inside frame: Frame.Pointer) -> Bool {
    endRunsLeft(inside: frame)
    return isOfParent
  }

  /// The innermost run ends so. What it had taken but not handled is put back. True if nobody is told of it any more.
  func endsAtOnce(_ frame: Frame.Pointer) -> Bool {
    if isOfParent { return true }
    if Watch.isListened { abandonedPassEnds(frame) }
    let failed = state.stop.bitwiseAnd(~LoopState.Stop.failed, ordering: .relaxed).oldValue & LoopState.Stop.failed
    let isClosed = treadle_system_open_tag() != state.life
    abandonBatch(frame)
    if isClosed {
      frame.pointee.result = Status.closed
      drainPool(frame)
    } else if failed == 0 {
      _ = consumeStop(frame)
    } else if frame.pointee.result != Status.state {
      // Of an event that was left to its host it is said already.
      frame.pointee.result = Status.callback
    }
    if frame.pointee.step != .left { frame.pointee.step = .leave }
    return isClosed
  }

  /// The thread ends inside its runs (pthread_exit in a callback): they let go of what they hold.
  func abandonRuns() {
    while let frame {
      settle(frame, .abandoned)
      frame.pointee.awaited?.abandon()
      abandonBatch(frame)
      self.frame = frame.pointee.outer
      frame.pointee.mode.state.runs = frame.pointee.mode.state.runs &- 1
      Frame.free(frame)
    }
    Frame.freeSpare(of: self)
    state.currentMode.store(0, ordering: .relaxed)
    endNestedCalls(CalloutRecord())
    if state.depth.load(ordering: .relaxed) == 0 { return }
    state.depth.store(0, ordering: .sequentiallyConsistent)
    // A shutdown that has closed everything and seen the depth waits for this.
    if treadle_system_is_closed_now() { Rest.announce() }
  }
}
