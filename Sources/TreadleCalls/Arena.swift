// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// One block of memory that is handed out piece by piece and freed, if ever, as a whole.
struct Arena {
  private var next: UnsafeMutableRawPointer
  private var left: Int

  private static let alignment = 16

  /// The whole block, or nil when there is no memory.
  static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
    treadle_system_allocate(size)
  }

  static func free(_ block: UnsafeMutableRawPointer?) {
    treadle_system_free(block)
  }

  init(_ block: UnsafeMutableRawPointer, size: Int) {
    next = block
    left = size
  }

  /// What `take` uses up.
  static func room<T: ~Copyable>(_ type: T.Type, _ count: Int) -> Int {
    TypeLayout.align(MemoryLayout<T>.stride &* count, to: alignment)
  }

  /// Room for so many values, aligned to 16 bytes; nil when the block is used up.
  mutating func take<T: ~Copyable>(_ type: T.Type, _ count: Int) -> UnsafeMutablePointer<T>? {
    let size = Arena.room(type, count)
    guard size <= left else { return nil }
    let piece = next.bindMemory(to: type, capacity: count)
    next += size
    left &-= size
    return piece
  }
}
