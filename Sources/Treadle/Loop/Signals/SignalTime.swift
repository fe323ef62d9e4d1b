// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// When a source was first signalled, as a number that orders signals; no clock is read (SRC0-7).
///
/// Signals of one loop from other threads count under its gate, in steps. The owner's take no gate: each gets one of the
/// numbers between the last step and the next, which no other thread uses. A signal that belongs to no one loop, because
/// its source is in no mode or in several, begins a new *era* of the whole process, and every later signal names the era
/// it was given in, in the high half of its number. Where the numbers of an era or a step run out, a new era begins.
enum SignalTime {
  private static let step: UInt64 = 1 << 12
  /// In a queue: the source takes its turn by whatever its time is. Nothing is signalled at this time.
  static let any: UInt64 = 0

  /// The next of a loop. Its gate is held.
  @inline(__always)
  static func next(on loop: Loop) -> UInt64 {
    let last = loop.state.pointee.clock.load(ordering: .relaxed)
    let era = UInt64(treadle_system_era())
    var time = max((last | (step &- 1)) &+ 1, (era << 32) &+ step)
    if time >> 32 != era { time = anywhere() &+ step }
    loop.state.pointee.clock.store(time, ordering: .relaxed)
    return time
  }

  /// The next of a loop for its owner: later than all that others have been told, earlier than what they will be.
  @inline(__always)
  static func nextOfOwner(on loop: Loop) -> UInt64 {
    let base = max(loop.state.pointee.clock.load(ordering: .relaxed), UInt64(treadle_system_era()) << 32)
    var time = max(loop.state.pointee.ownTime, base) &+ 1
    if time & (step &- 1) == 0 { time = anywhere() &+ 1 }
    loop.state.pointee.ownTime = time
    return time
  }

  /// Later than every signal so far, wherever it was given.
  static func anywhere() -> UInt64 { UInt64(treadle_system_next_era()) << 32 }
}

extension Item {
  /// Of the last signal that found the source not signalled: written by whoever gave it, behind the exchange of the mark, and
  /// read to order sources, by whoever has found them in a queue.
  @inline(__always)
  var signalTime: UInt64 { source.pointee.signalTime.load(ordering: .acquiring) }
  @inline(__always)
  func setSignalTime(_ time: UInt64) { source.pointee.signalTime.store(time, ordering: .releasing) }
}
