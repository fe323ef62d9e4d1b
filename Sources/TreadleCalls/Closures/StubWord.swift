// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a stub does with a call, and how many calls are inside, in one atomic word:
///
///     63..62   61..32    31..0
///     phase    readers   calls
///
/// A call enters only while the phase is active, so when a retired stub's calls have come down to 0 they stay there.
/// A reader is a call on a tombstone, for as long as it looks at the default result.
struct StubWord: BitwiseCopyable {
  enum Phase {
    /// Never used, or about to be used again: nothing to look at.
    static let blank: UInt64 = 0
    static let active: UInt64 = 1
    /// No call begins any more.
    static let retired: UInt64 = 2
    /// The last call has ended.
    static let drained: UInt64 = 3
  }

  static let call: UInt64 = 1
  static let reader: UInt64 = 1 << 32
  /// A new closure's.
  static let active = StubWord(bits: Phase.active << 62)
  /// A closure's of the process's life before a fork.
  static let drained = StubWord(bits: Phase.drained << 62)

  let bits: UInt64

  @inline(__always)
  var phase: UInt64 { bits >> 62 }
  @inline(__always)
  var calls: UInt32 { UInt32(truncatingIfNeeded: bits) }
  /// Whether nobody is inside and nobody will come in again before the next closure.
  var isFree: Bool { self == StubWord.drained }
  /// Whether the last call has ended, and nobody has said so yet.
  @inline(__always)
  var isDrainable: Bool { phase == Phase.retired && calls == 0 }

  func with(phase: UInt64) -> StubWord { StubWord(bits: bits & ~(3 << 62) | phase << 62) }

  static func == (left: StubWord, right: StubWord) -> Bool { left.bits == right.bits }
}
