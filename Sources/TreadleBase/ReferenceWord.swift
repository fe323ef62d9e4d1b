// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What the word of a reference says.
extension Reference {
  /// A copy of it.
  package struct Seen: BitwiseCopyable {
    let bits: UInt64

    @inline(__always)
    package var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 40) }
    /// The life has ended: nobody refers to the object.
    @inline(__always)
    package var isGone: Bool { bits & Reference.counts == 0 }
    @inline(__always)
    package var own: UInt64 { bits >> 7 & Reference.mostOwn }
    @inline(__always)
    package var clients: UInt64 { bits >> 25 & Reference.mostClients }
    package var isLastGeneration: Bool { bits >> 40 == Reference.lastGeneration }
    @inline(__always)
    package func has(_ mark: UInt64) -> Bool { bits & mark != 0 }
    @inline(__always)
    func isLive(_ generation: UInt32) -> Bool { self.generation == generation && !isGone }
    /// The word with one more reference of our own.
    @inline(__always)
    var withOneMore: UInt64 { own < Reference.fullOwn ? bits &+ Reference.one : bits }
  }

  /// Of items; other objects have none but `awaited` and `abandoned`.
  package enum Mark {
    /// The item was not invalidated (OBJ-5).
    package static let valid: UInt64 = 1
    /// The source was signalled, and not performed since (SRC0-6).
    package static let signalled: UInt64 = 2
    /// The thread that queues the source wakes the loop: a signal asked for that, or a caller was told that the source
    /// is signalled.
    package static let wakeWanted: UInt64 = 4
    /// The source was signalled again before it was performed.
    package static let repeated: UInt64 = 8
    /// Somebody waits until none of our own references is left.
    package static let awaited: UInt64 = 16
    /// What is used up with a signal.
    package static let ofSignal = signalled | wakeWanted | repeated
    /// Its scope was closed: no client has, or gets, a reference.
    package static let abandoned: UInt64 = 32
    /// The item's own cell is claimed: for a membership, which may just be beginning or ending, or by a thread that has
    /// the item's lock.
    package static let claimed: UInt64 = 64
    static let all: UInt64 = 127
  }

  package static let mostClients: UInt64 = 0x7FFF
  static let mostOwn: UInt64 = 0x3_FFFF
  /// From `manyOwn` on none of our own references is counted down any more, and from `fullOwn` on none up: the object
  /// stays for ever, and the count never runs into the next one. What threads add and take back at the same time fits
  /// in between.
  static let manyOwn: UInt64 = 0x3_0000
  static let fullOwn: UInt64 = 0x3_8000
  static let client: UInt64 = 1 << 25
  static let one: UInt64 = 1 << 7
  static let counts: UInt64 = 0xFF_FFFF_FF80
  static let lastGeneration: UInt64 = 0xFF_FFFF
}
