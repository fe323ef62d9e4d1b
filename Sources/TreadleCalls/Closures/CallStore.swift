// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Memory of a closure's calls that are over, for its next ones. They are made by one thread and end on another, all
/// of one size, and more often than not hundreds at a time, which is what allocators are slowest at.
///
/// Lives until the closure is gone, and the last of its calls.
struct CallStore: ~Copyable {
  /// A block that nobody uses.
  private struct Free {
    var next: UnsafeMutablePointer<Free>?
  }

  private let gate: Gate
  private let blockSize: Int
  // Guarded by the gate.
  private var isOpen = true
  private var first: UnsafeMutablePointer<Free>?
  private var freeCount: UInt32 = 0
  private var usedCount: UInt32 = 0

  typealias Pointer = UnsafeMutablePointer<CallStore>

  /// As many blocks are kept at most.
  private static let mostFree: UInt32 = 512

  private init(blockSize: Int) {
    gate = Gate()
    self.blockSize = blockSize
  }

  /// Nil when there is no memory.
  static func make(blockSize: Int) -> Pointer? {
    guard let memory = treadle_system_allocate(MemoryLayout<CallStore>.size) else { return nil }
    let store = memory.bindMemory(to: CallStore.self, capacity: 1)
    store.initialize(to: CallStore(blockSize: blockSize))
    return store
  }

  static func fits(_ store: Pointer, _ size: Int) -> Bool { size <= store.pointee.blockSize }

  /// A block; nil when there is no memory.
  static func take(_ store: Pointer) -> UnsafeMutableRawPointer? {
    store.pointee.gate.lock()
    store.pointee.usedCount = store.pointee.usedCount &+ 1
    let block = store.pointee.first
    if let block {
      store.pointee.first = block.pointee.next
      store.pointee.freeCount = store.pointee.freeCount &- 1
    }
    store.pointee.gate.unlock()
    if let block { return UnsafeMutableRawPointer(block) }
    if let memory = treadle_system_allocate(store.pointee.blockSize) { return memory }
    give(nil, to: store)
    return nil
  }

  /// Takes a block back; nil for one that could not be had.
  static func give(_ memory: UnsafeMutableRawPointer?, to store: Pointer) {
    store.pointee.gate.lock()
    store.pointee.usedCount = store.pointee.usedCount &- 1
    let isKept = store.pointee.isOpen && store.pointee.freeCount < mostFree
    if isKept, let memory {
      let block = memory.bindMemory(to: Free.self, capacity: 1)
      block.initialize(to: Free(next: store.pointee.first))
      store.pointee.first = block
      store.pointee.freeCount = store.pointee.freeCount &+ 1
    }
    let isLast = !store.pointee.isOpen && store.pointee.usedCount == 0
    store.pointee.gate.unlock()
    if !isKept { treadle_system_free(memory) }
    if isLast { treadle_system_free(store) }
  }

  /// The closure is gone: no block is taken any more.
  static func close(_ store: Pointer) {
    store.pointee.gate.lock()
    store.pointee.isOpen = false
    var next = store.pointee.first
    store.pointee.first = nil
    let isLast = store.pointee.usedCount == 0
    store.pointee.gate.unlock()
    while let block = next {
      next = block.pointee.next
      treadle_system_free(block)
    }
    if isLast { treadle_system_free(store) }
  }
}
