// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// A loop that is as quick as its callers takes what they queue one by one, and each piece costs both sides
/// several cache misses. So a loop that has just taken little from another thread, and finds more there
/// already, waits for a fraction of a microsecond before it takes that: it then takes many at a time.
/// A loop that finds nothing, or whose callers are slower than itself, does not wait.
extension Loop {
  /// This many are enough at a time.
  private static let enough = 64
  private static let pauses = 20

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
      if hasWork(mode) { Loop.pause() }
    }
  }

  @inline(never)
  private static func pause() {
    for _ in 0..<pauses { treadle_system_pause() }
  }
}
