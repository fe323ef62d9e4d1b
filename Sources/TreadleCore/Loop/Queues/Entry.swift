// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// One place in a queue or a batch. All of them are of one type, so that a batch takes a queue's memory in exchange for
/// its own.
struct Entry: BitwiseCopyable {
  /// A `Mention`; or a plain function that was posted; 0 for a block that is a node on the heap, and for a `PostGroup`.
  var first: UInt64
  /// The time of a signal, the date of a timer, the activities of an observer; or the info of a function, a node, or a
  /// group.
  var second: UInt64

  @inline(__always)
  init(first: UInt64, second: UInt64) {
    self.first = first
    self.second = second
  }

  @inline(__always)
  init(_ member: Item, _ second: UInt64) { self.init(first: Mention(member).bits, second: second) }

  @inline(__always)
  var mention: Mention { Mention(bits: first) }
}
