// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization

/// The memory that a stub hands to libffi: 64 bytes, of which libffi knows the first three words.
struct StubSlot: ~Copyable {
  enum Flag {
    /// The stub is none of the pool, but libffi's own; the slot is the beginning of an `AllocatedStub`.
    static let allocated: UInt32 = 1
    /// Its pointer is never used for another closure.
    static let kept: UInt32 = 2
  }

  /// libffi's function that the stub jumps to, the type, and our function. Of an allocated stub the first leads
  /// leak checkers to others; the other two are not used.
  var entry: (UInt, UInt, UInt)
  /// A `StubWord`.
  let word: Atomic<UInt64>
  /// The closure that is called through the stub, or was. Replaced while the word is blank.
  let body: Atomic<UnsafeMutableRawPointer?>
  /// The life of the process in which the closure was made (see `Runtime`).
  let tag: Atomic<UInt32>
  /// `Flag` bits. Written while the word is blank, or by the only thread of a new life.
  var flags: UInt32
  /// The function pointer. Constant.
  var code: UnsafeMutableRawPointer?
  /// The next in the queue of those that may be used again. Guarded by the pool's gate.
  var next: UnsafeMutablePointer<StubSlot>?
}
