// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Numbers for pairs of words, from 1 on: the same pair has the same number. Its owner says what guards it.
struct IdentityTable {
  private struct Pair: BitwiseCopyable {
    let first: UInt
    let second: UInt
  }

  private let most: Int
  private var pairs = Buffer<Pair>()
  /// The numbers at places that follow from the pairs, the next one free; 0: free. A power of two, more than half of
  /// them free.
  private var places = Buffer<UInt32>()

  init(most: Int) { self.most = most }

  private func place(_ first: UInt, _ second: UInt, in places: Buffer<UInt32>) -> Int {
    let mixed = (UInt64(first) ^ UInt64(second) &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
    let mask = places.count &- 1
    var at = Int(truncatingIfNeeded: mixed >> 32) & mask
    while let number = places[at], number != 0 {
      if let known = pairs[Int(number) &- 1], known.first == first, known.second == second { break }
      at = (at &+ 1) & mask
    }
    return at
  }

  /// The number of a pair, which may be new.
  mutating func number(_ first: UInt, _ second: UInt = 0) throws(Failure) -> UInt32 {
    if (pairs.count &+ 1) &* 2 > places.count { try grow() }
    let at = place(first, second, in: places)
    if let known = places[at], known != 0 { return known }
    if pairs.count >= most {
      throw Failure(Status.range, "extension", "has given out as many tokens or callbacks as it can")
    }
    if !pairs.append(Pair(first: first, second: second)) { throw Failure.noMemory("extension") }
    let number = UInt32(truncatingIfNeeded: pairs.count)
    places.set(at, number)
    return number
  }

  private mutating func grow() throws(Failure) {
    let size = max(places.count &* 2, 16)
    var grown = Buffer<UInt32>()
    let isThere = grown.refill(size) { room in
      room.initialize(repeating: 0, count: size)
      return size
    }
    if !isThere { throw Failure.noMemory("extension") }
    for index in 0..<pairs.count {
      guard let pair = pairs[index] else { continue }
      grown.set(place(pair.first, pair.second, in: grown), UInt32(truncatingIfNeeded: index &+ 1))
    }
    places.free()
    places = grown
  }

  /// The pair of a number; nil for one that was not given out.
  subscript(number: UInt32) -> (first: UInt, second: UInt)? {
    pairs[Int(number) &- 1].map { ($0.first, $0.second) }
  }

  mutating func free() {
    pairs.free()
    places.free()
  }
}
