// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a stub does with a call, and how many calls are inside, in one atomic word:
///
///     63..62   61..32    31..0
///     phase    readers   calls
///
/// Bit 61 tells that a call on the tombstone was reported.
/// A call enters only while the phase is active, so when a retired stub's calls have come down to 0 they stay there.
/// A reader is a call on a tombstone, for as long as it looks at the default result. A sealed tombstone, whose word is
/// drained with one more bit, names a body that is never freed: its readers are not counted, and only bit 61 changes.
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
  static let seal: UInt64 = 1 << 31
  static let reported: UInt64 = 1 << 61
  /// A new closure's.
  static let active = StubWord(bits: Phase.active << 62)
  /// A closure's of the process's life before a fork.
  static let drained = StubWord(bits: Phase.drained << 62)
  static let sealed = StubWord(bits: drained.bits | seal)

  let bits: UInt64

  @inline(__always)
  var phase: UInt64 { bits >> 62 }
  @inline(__always)
  var calls: UInt32 { UInt32(truncatingIfNeeded: bits) }
  var readers: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) & 0x1FFF_FFFF }
  var isSealed: Bool { phase == Phase.drained && bits & StubWord.seal != 0 }
  /// Whether nobody is inside and nobody will come in again before the next closure.
  var isFree: Bool { bits & ~StubWord.reported == StubWord.drained.bits }
  /// Whether the last call has ended, and nobody has said so yet.
  @inline(__always)
  var isDrainable: Bool { phase == Phase.retired && calls == 0 }

  func with(phase: UInt64) -> StubWord { StubWord(bits: bits & ~(3 << 62) | phase << 62) }

  static func == (left: StubWord, right: StubWord) -> Bool { left.bits == right.bits }
}
