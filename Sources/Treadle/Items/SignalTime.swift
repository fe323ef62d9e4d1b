// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// When a source was first signalled, as a number that orders signals; no clock is read (SRC0-7).
///
/// Signals of one loop count under its gate. A signal that belongs to no one loop, because its source is
/// in no mode or in several, begins a new *era* of the whole process, and every later signal names the
/// era it was given in. So the high half of the number is the era, the low half the loop's count.
enum SignalTime {
  /// The next of a loop. Its gate is held.
  @inline(__always)
  static func next(on loop: Loop) -> UInt64 {
    loop.state.pointee.signals = loop.state.pointee.signals &+ 1
    return UInt64(treadle_system_era()) << 32 | UInt64(loop.state.pointee.signals)
  }

  /// Later than every signal so far, wherever it was given.
  static func anywhere() -> UInt64 { UInt64(treadle_system_next_era()) << 32 }
}

/// A source's part of its slot, behind the `ItemCell`.
struct SourceCell: ~Copyable {
  /// The `SignalTime` of the first signal that has not been performed. Atomic, because a source in no
  /// mode may be signalled by several threads at a time.
  let signalTime: Atomic<UInt64>
}

extension Item {
  private var source: UnsafeMutablePointer<SourceCell> {
    (UnsafeMutableRawPointer(cell) + 40).assumingMemoryBound(to: SourceCell.self)
  }

  @inline(__always)
  var signalTime: UInt64 { source.pointee.signalTime.load(ordering: .relaxed) }
  @inline(__always)
  func setSignalTime(_ time: UInt64) { source.pointee.signalTime.store(time, ordering: .relaxed) }
}
