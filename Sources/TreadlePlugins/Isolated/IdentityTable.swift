// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// Numbers for pairs of words, from 1 on: the same pair has the same number. Its owner says what guards it.
struct IdentityTable {
  private struct Pair: BitwiseCopyable {
    let first: UInt
    let second: UInt

    var hash: UInt64 { UInt64(first) ^ UInt64(second) &* 0xD6E8_FEB8_6659_FD93 }
  }

  private let most: Int
  private var pairs = Buffer<Pair>()
  private var numbers = HashIndex()

  init(most: Int) { self.most = most }

  /// The number of a pair, which may be new.
  mutating func number(_ first: UInt, _ second: UInt = 0) throws(Failure) -> UInt32 {
    let pair = Pair(first: first, second: second), pairs = self.pairs
    let known = numbers.find(pair.hash) { number in
      pairs[Int(number) &- 1].map { $0.first == first && $0.second == second } ?? false
    }
    if let known { return UInt32(truncatingIfNeeded: known) }
    if pairs.count >= most {
      throw Failure(Status.range, "extension", "has given out as many tokens or callbacks as it can")
    }
    if !numbers.reserve() || !self.pairs.append(pair) { throw Failure.noMemory("extension") }
    _ = numbers.insert(pair.hash, UInt(self.pairs.count))
    return UInt32(truncatingIfNeeded: self.pairs.count)
  }

  /// The pair of a number; nil for one that was not given out.
  subscript(number: UInt32) -> (first: UInt, second: UInt)? {
    pairs[Int(number) &- 1].map { ($0.first, $0.second) }
  }

  mutating func free() {
    pairs.free()
    numbers.free()
  }
}
