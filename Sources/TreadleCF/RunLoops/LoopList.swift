// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// The loops that a source was added to, without references; guarded by the lock of what has it.
struct LoopList {
  private var loops: UnsafeMutablePointer<UInt>? = nil
  private var count = 0

  /// Remembers a loop. Without memory it is not remembered.
  mutating func note(_ loop: UInt) {
    if contains(loop) { return }
    guard let grown = treadle_cf_reallocate(loops, (count &+ 1) &* 8) else { return }
    loops = grown.assumingMemoryBound(to: UInt.self)
    loops?[count] = loop
    count &+= 1
  }

  func contains(_ loop: UInt) -> Bool {
    var isIn = false
    forEach { if $0 == loop { isIn = true } }
    return isIn
  }

  func forEach(_ work: (UInt) -> Void) {
    var index = 0
    while let loops, index < count {
      work(loops[index])
      index &+= 1
    }
  }

  /// The list, which the caller frees; this one is empty then.
  mutating func take() -> LoopList {
    let taken = self
    self = LoopList()
    return taken
  }

  func free() { treadle_cf_free(loops) }
}

/// Calls `work` with the name of each mode of a loop.
func forEachMode(_ loop: OpaquePointer?, _ work: (UnsafePointer<CChar>) -> Void) {
  var names = ByteBuffer()
  names.append { treadle_loop_get_modes(loop, $0, $1, $2) }
  defer { names.free() }
  guard let bytes = names.bytes else { return }
  var at = 0
  while at < names.count {
    work(UnsafeRawPointer(bytes + at).assumingMemoryBound(to: CChar.self))
    at &+= lengthOf(bytes + at) &+ 1
  }
}
