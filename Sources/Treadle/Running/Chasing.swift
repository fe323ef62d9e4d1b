// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A loop that is as quick as its callers takes what they queue one by one, and each piece costs both sides
/// several cache misses. So a loop that has just taken little from another thread, and finds more there
/// already, waits for a fraction of a microsecond before it takes that: it then takes many at a time.
///
/// Callers that signal a source again before it was performed do not wait for it: then, but only then, the
/// pause grows to a few microseconds. A loop that finds nothing, or whose callers are slower than itself,
/// does not wait at all.
extension Loop {
  /// This many are enough at a time.
  private static let enough = 64
  // Nanoseconds.
  private static let shortestPause: Int64 = 400
  private static let longestPause: Int64 = 3200

  /// What the owner takes now; the gate is held.
  @inline(__always)
  func noteTaken(_ count: Int) {
    if state.pointee.isCalledFromOutside {
      state.pointee.isCalledFromOutside = false
      if count < Loop.enough { state.pointee.isChasing = true }
    }
  }

  /// At the beginning of a pass. Owner.
  @inline(__always)
  func letOthersQueueMore(_ mode: Mode) {
    if state.pointee.isChasing {
      state.pointee.isChasing = false
      if hasWork(mode) { pause() }
    }
  }

  @inline(never)
  private func pause() {
    let longest = state.pointee.isOverrun ? Loop.longestPause : Loop.shortestPause
    state.pointee.isOverrun = false
    let pause = min(max(state.pointee.chasePause &* 2, Loop.shortestPause), longest)
    state.pointee.chasePause = pause
    let until = Clock.after(pause, from: Clock.now())
    repeat { treadle_system_pause() } while Clock.now() < until
  }
}
