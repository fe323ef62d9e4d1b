// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import Synchronization

/// The memory that a stub hands to libffi: 64 bytes, of which libffi knows the first three words.
struct StubSlot: ~Copyable {
  enum Flag {
    /// The stub is none of the pool, but libffi's own; the slot is the beginning of an `AllocatedStub`.
    static let allocated: UInt32 = 1
    /// Its pointer is never used for another closure.
    static let kept: UInt32 = 2
    /// The stub is one of a `StubBlock`.
    static let block: UInt32 = 4
  }

  /// The function that the stub jumps to, libffi's or our own, the type, and what libffi's calls (`lead`). Not used of
  /// an allocated stub.
  private let jump: Atomic<UInt>
  private let type: Atomic<UInt>
  private let entry: Atomic<UInt>
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

  /// One that no call has come to yet, of a block.
  init(
    code: UnsafeMutableRawPointer?, _ words: treadle_ffi_stub, word: StubWord, body: ClosureBody.Pointer?, tag: UInt32,
    flags: UInt32
  ) {
    jump = Atomic(words.code)
    type = Atomic(words.type)
    entry = Atomic(words.entry)
    self.word = Atomic(word.bits)
    self.body = Atomic(UnsafeMutableRawPointer(body))
    self.tag = Atomic(tag)
    self.flags = flags
    self.code = code
    next = nil
  }

  /// Has calls of the stub go elsewhere. One that came for the pointer's last life may find any mixture of old and new,
  /// but for one: who finds the new function finds the new type too, for it reads them in this order. So libffi's
  /// function never meets a type that was not prepared: a new one is before it comes here.
  func lead(to words: treadle_ffi_stub) {
    type.store(words.type, ordering: .relaxed)
    entry.store(words.entry, ordering: .relaxed)
    jump.store(words.code, ordering: .releasing)
  }
}
