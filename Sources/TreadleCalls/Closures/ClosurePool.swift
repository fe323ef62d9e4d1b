// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import TreadleBase

/// What the process's pool of stubs can be asked.
package enum ClosurePool {
  package struct Counts {
    /// Stubs in the library's code.
    package let capacity: UInt32
    /// Stubs of closures that are not drained; stubs that wait until they may be used again.
    package let used, retired: UInt32
    /// Function pointers from libffi's own allocation.
    package let allocated: UInt32
    /// Calls on retired pointers.
    package let lateCalls: UInt64
  }

  package static var counts: Counts { StubPool.counts }

  /// libffi's version as a C string; empty when it does not tell.
  package static var library: UnsafePointer<CChar> { treadle_ffi_version() }
}
