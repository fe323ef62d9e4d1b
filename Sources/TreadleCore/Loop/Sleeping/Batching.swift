// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Batching of producers. A loop that is as quick as its callers takes what they queue one by one, and each piece costs
/// both sides several cache misses. So a loop that has just taken little from another thread, and finds more there
/// already, waits for a fraction of a microsecond before it takes that: it then takes many at a time.
///
/// Callers that signal a source again before it was performed do not wait for it: then, but only then, the pause grows
/// to a few microseconds. A loop that finds nothing, or whose callers are slower than itself, does not wait at all.
extension Loop {
  /// This many are enough at a time.
  private static let enough = 64
  // Nanoseconds.
  private static let shortestPause: Int64 = 400
  private static let longestPause: Int64 = 6400

  /// Another thread queued something; the first to do so since the owner took what there was also leaves its processor.
  /// The gate is held.
  @inline(__always)
  func noteCaller() {
    if state.isCalledFromOutside { return }
    state.isCalledFromOutside = true
    state.callers.note()
  }

  /// What the owner takes now; the gate is held.
  @inline(__always)
  func noteTaken(_ count: Int) {
    if state.isCalledFromOutside {
      state.isCalledFromOutside = false
      if count < Loop.enough { state.isChasing = true }
    }
  }

  /// At the beginning of a pass, and before its sources are collected. Owner.
  @inline(__always)
  func letOthersQueueMore(_ mode: Mode) {
    if state.isChasing { letOthersQueueMoreNow(mode) }
  }

  @inline(never)
  private func letOthersQueueMoreNow(_ mode: Mode) {
    if hasWork(mode) {
      state.isChasing = false
      // A caller on this processor queues nothing meanwhile.
      if state.callers.isElsewhere { pause() }
    } else if !state.isOverrun {
      // Callers that do not wait for the loop are only about to queue something: the pause comes when they have.
      state.isChasing = false
    }
  }

  private func pause() {
    let longest = state.isOverrun ? Loop.longestPause : Loop.shortestPause
    state.isOverrun = false
    let pause = min(max(state.chasePause &* 2, Loop.shortestPause), longest)
    state.chasePause = pause
    let until = Clock.after(pause, from: Clock.now())
    // Several at a time: the callers may share this processor's core.
    repeat { for _ in 0..<8 { treadle_system_pause() } } while Clock.now() < until
  }

  /// Whether anything was queued for the mode by others. Owner, without the gate: a guess, by which nothing but the
  /// pause is decided, so the loads order nothing.
  @inline(__always)
  private func hasWork(_ mode: Mode) -> Bool {
    state.pending.load(ordering: .relaxed) != 0
      || mode.state.signalledCount.load(ordering: .relaxed) != 0
  }
}
