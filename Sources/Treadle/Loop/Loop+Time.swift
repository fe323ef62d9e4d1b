// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// The time that a client may count from where the present to the nanosecond is not worth what it costs: a reading of the
/// clock by the loop's own thread, which is used again for a while. In a run that is for the rest of a pass, but not
/// beyond its sleep; outside of runs, until the kernel's next tick, which costs a quarter of a reading to know of.
extension Loop {
  /// On a thread without a loop, the present.
  @inline(__always)
  package static func recentTime() -> Int64 {
    guard let loop = existing else { return Clock.now() }
    if loop.state.pointee.frame == nil { return loop.readingOfTick() }
    if !loop.state.pointee.hasReading { loop.noteReading(Clock.now()) }
    return loop.state.pointee.lastReading
  }

  /// The pass has read the clock for its own sake, and for its timers: whatever was read before is older. Owner.
  @inline(__always)
  func noteReading(_ now: Int64) {
    assertOwner()
    state.pointee.lastReading = now
    state.pointee.hasReading = true
  }

  /// A run in between may have left a later reading, which is as good.
  @inline(__always)
  private func readingOfTick() -> Int64 {
    let tick = Clock.lastTick
    if tick != state.pointee.readingTick {
      state.pointee.lastReading = Clock.now()
      state.pointee.readingTick = tick
    }
    return state.pointee.lastReading
  }
}
