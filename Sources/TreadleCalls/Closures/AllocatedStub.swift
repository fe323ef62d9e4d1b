// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import CTreadleSystem
import Synchronization

/// A stub of libffi's own allocation, for when the pool has none: it may lie in memory that is writable and
/// executable. It is never freed, since a late call may come at any time.
struct AllocatedStub: ~Copyable {
  var slot: StubSlot
  /// Where libffi lets the closure be written; the function pointer may show the same memory at another address.
  var writable: UnsafeMutableRawPointer?

  /// A new one, blank; nil when there is no memory, or the system permits none that is executable.
  static func make() -> Stub? {
    guard let memory = treadle_system_zeroed(MemoryLayout<AllocatedStub>.size) else { return nil }
    var code: UnsafeMutableRawPointer?
    guard let writable = treadle_ffi_allocate_closure(&code), let code else {
      treadle_system_free(memory)
      return nil
    }
    let stub = memory.assumingMemoryBound(to: AllocatedStub.self)
    stub.pointee.slot.flags = StubSlot.Flag.allocated
    stub.pointee.slot.code = code
    stub.pointee.writable = writable
    return Stub(memory)
  }

  /// Whether the closure is written at another address than it is called at, so that the memory may be shared with
  /// another process.
  static func isMappedApart(_ stub: Stub) -> Bool {
    stub.allocated.pointee.writable != stub.slot.pointee.code
  }

  /// Has calls of the pointer lead to `ClosureEntry`.
  static func prepare(_ stub: Stub, _ signature: Signature) -> Bool {
    treadle_ffi_prepare_closure(
      stub.allocated.pointee.writable, &signature.body.pointee.cif, ClosureEntry.call, stub.slot, stub.slot.pointee.code
    )
  }
}

extension Stub {
  fileprivate var allocated: UnsafeMutablePointer<AllocatedStub> {
    UnsafeMutableRawPointer(slot).assumingMemoryBound(to: AllocatedStub.self)
  }
}
