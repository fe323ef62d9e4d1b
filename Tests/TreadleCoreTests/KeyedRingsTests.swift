// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

@testable import TreadleBase

@Suite("Rings by key")
struct KeyedRingsTests {
  private typealias Link = KeyedRings.Link

  /// The places of a key's links, in their order.
  private func places(_ rings: KeyedRings, _ key: UInt64, in links: UnsafeMutablePointer<Link>) -> [Int] {
    var found: [Int] = []
    var next = rings.first(key)
    while let link = next {
      #expect(link.pointee.isInRing)
      found.append(link - links)
      next = rings.following(link)
    }
    return found
  }

  @Test("links of a key come in the order in which they entered, whichever leave in between")
  func order() throws {
    var rings = KeyedRings()
    defer { rings.free() }
    let count = 300
    let links = UnsafeMutablePointer<Link>.allocate(capacity: count)
    defer { links.deallocate() }
    for place in 0..<count { (links + place).initialize(to: Link(key: UInt64(place % 3))) }
    var expected: [[Int]] = [[], [], []]
    for place in 0..<count {
      let hasRoom = rings.reserve()
      #expect(hasRoom)
      rings.enter(links + place)
      expected[place % 3].append(place)
    }
    // The first, the last, and whatever the number says.
    for turn in 0..<count {
      let key = turn % 3
      let index = turn % 5 == 0 ? 0 : turn % 5 == 1 ? expected[key].count - 1 : turn * 31 % expected[key].count
      let place = expected[key].remove(at: index)
      rings.leave(links + place)
      rings.leave(links + place)
      #expect(!links[place].isInRing && links[place].next == nil)
      #expect(places(rings, UInt64(key), in: links) == expected[key])
    }
    #expect(rings.first(0) == nil && rings.first(1) == nil && rings.first(2) == nil && rings.count == UInt64(count))
  }
}
