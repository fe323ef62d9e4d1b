// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

@testable import TreadleBase

@Suite("The index of numbers by hash")
struct HashIndexTests {
  /// A generator whose numbers are the same in each run.
  private struct Numbers {
    var state: UInt64
    mutating func next(below limit: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit
    }
  }

  @Test("it answers as a dictionary does, whatever comes and goes, with many of one hash")
  func model() throws {
    var index = HashIndex()
    defer { index.free() }
    var model: [UInt64: Set<UInt>] = [:]
    var numbers = Numbers(state: 5)
    for turn in 0..<60_000 {
      // It grows to some thousands and goes down to few again.
      let isGrowing = turn / 10_000 % 2 == 0
      let hash = numbers.next(below: 3000)
      let number = UInt(numbers.next(below: 4)) + 1
      if numbers.next(below: 4) == 0 ? !isGrowing : isGrowing {
        if model[hash, default: []].insert(number).inserted {
          let isThere = index.insert(hash, number)
          #expect(isThere)
        }
      } else {
        index.remove(hash, number)
        model[hash]?.remove(number)
      }
      let found = index.find(hash) { $0 == number }
      #expect(found == (model[hash]?.contains(number) == true ? number : nil))
    }
    for (hash, expected) in model {
      var found: Set<UInt> = []
      let last = index.find(hash) { number in
        found.insert(number)
        return false
      }
      #expect(last == nil && found == expected)
    }
  }

  @Test("a number is put in the place of another; 0 is none, and removing what is not there does nothing")
  func replacing() throws {
    var index = HashIndex()
    defer { index.free() }
    index.remove(7, 1)
    let first = index.find(7) { _ in true }
    let isNone = index.insert(7, 0)
    #expect(first == nil && !isNone)
    let isThere = index.insert(7, 1) && index.insert(7, 2)
    index.replace(7, 1, by: 3)
    index.remove(7, 1)
    index.remove(8, 2)
    let found: [UInt?] = (1...3).map { number in index.find(7) { $0 == number } }
    #expect(isThere && found == [nil, 2, 3])
  }
}
