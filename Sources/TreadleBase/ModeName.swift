// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The names of some modes, as a client gives them.
package typealias ModeNames = UnsafeBufferPointer<UnsafePointer<CChar>?>

/// A mode's name as a client gives it: UTF-8 text that ends with NUL, borrowed for the call.
package struct ModeName {
  package let bytes: UnsafePointer<CChar>

  @inline(__always)
  package init(_ bytes: UnsafePointer<CChar>) { self.bytes = bytes }

  package var length: Int { strlen(bytes) }

  @inline(__always)
  package func equals(_ other: UnsafePointer<CChar>) -> Bool { bytes == other || strcmp(bytes, other) == 0 }

  /// FNV-1a, so that a search compares few names.
  package var hash: UInt32 {
    var hash: UInt32 = 2_166_136_261
    var next = bytes
    while next.pointee != 0 {
      hash = (hash ^ UInt32(UInt8(bitPattern: next.pointee))) &* 16_777_619
      next += 1
    }
    return hash
  }

  /// A copy that the caller frees.
  package func copy() -> UnsafeMutablePointer<CChar>? {
    let size = length &+ 1
    guard let memory = treadle_system_allocate(size) else { return nil }
    memcpy(memory, bytes, size)
    return memory.assumingMemoryBound(to: CChar.self)
  }
}
