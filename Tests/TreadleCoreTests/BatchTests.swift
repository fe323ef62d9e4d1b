// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

@testable import TreadleCore
@testable import TreadleBase

/// What a step hands to the client, apart from what it is.
@Suite("Batches")
struct BatchTests {
  private func makeBatch(_ count: UInt64) -> Batch {
    var batch = Batch()
    for number in 1...count { _ = batch.entries.append(Entry(first: number, second: 0)) }
    batch.open(.blocks)
    return batch
  }

  private func numbers(_ batch: Batch) -> [UInt64] { batch.entries.elements.map(\.first) }

  @Test("entries are taken from the front, once")
  func taking() {
    var batch = makeBatch(3)
    defer { batch.free() }
    #expect(batch.first?.first == 1 && !batch.isEmpty)
    let first = batch.takeFirst()
    batch.skip()
    #expect(first?.first == 1 && batch.first?.first == 3)
    let last = batch.takeFirst()
    let none = batch.takeFirst()
    #expect(last?.first == 3 && none == nil && batch.first == nil && batch.isEmpty && batch.kind == .blocks)
    batch.close()
    #expect(batch.kind == .none && batch.entries.isEmpty && batch.index == 0)
  }

  @Test("BLK-4: what is kept stays in its order, ahead of what was not looked at")
  func keeping() {
    var batch = makeBatch(7)
    defer { batch.free() }
    batch.keepFirst()
    batch.skip()
    batch.keepFirst()
    _ = batch.takeFirst()
    batch.keepFirst()
    #expect(batch.keptCount == 3 && batch.index == 5)
    while !batch.isEmpty { batch.keepFirst() }
    batch.keepFirst()
    batch.entries.truncate(batch.keptCount)
    #expect(numbers(batch) == [1, 3, 5, 6, 7])
  }

  @Test("what was taken is not among what is left")
  func leaving() {
    var batch = makeBatch(6)
    defer { batch.free() }
    batch.skip()
    batch.dropTaken()
    #expect(numbers(batch) == [2, 3, 4, 5, 6] && batch.index == 0)
    while batch.takeFirst() != nil {}
    batch.dropTaken()
    #expect(numbers(batch) == [] && batch.isEmpty)
  }

  @Test("a plain function, a node and a member are told apart in one entry")
  func entries() throws {
    let function = UnsafeMutableRawPointer(bitPattern: 0x1234)
    let info = UnsafeMutableRawPointer(bitPattern: 0x5678)
    let plain = Entry(code: try #require(function), info: info)
    #expect(plain.code == function && plain.info == info && plain.node == nil)
    let node = try #require(BlockNode.allocate(BlockNode(WorkItem(post: function, info))))
    let entry = Entry(node)
    #expect(entry.code == nil && entry.node == node)
    BlockNode.free(node)
    let source = try Item.source(code: nil, info: nil, context: Context())
    let member = Entry(source, 7)
    #expect(member.second == 7 && member.mention.slot == source.slot && member.mention.means(source))
    try Item.release(.source, source.handle.bits, "source")
  }
}
