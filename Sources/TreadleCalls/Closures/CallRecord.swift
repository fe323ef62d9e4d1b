// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// One call of a closure, as its handler sees it.
///
/// The layout is that of `treadle_call` in the C header; a test compares the two.
package struct CallRecord {
  package var structSize: Int
  package var closure: OpaquePointer?
  package var signature: OpaquePointer?
  package var loop: OpaquePointer?
  package var argumentCount: UInt32
  package var reserved: UInt32
  package var arguments: UnsafePointer<UnsafeRawPointer?>?
  package var result: UnsafeMutableRawPointer?

  init(
    _ body: UnsafeMutablePointer<ClosureBody>, loop: OpaquePointer?, arguments: UnsafePointer<UnsafeRawPointer?>?,
    result: UnsafeMutableRawPointer?
  ) {
    structSize = MemoryLayout<CallRecord>.size
    closure = OpaquePointer(bitPattern: body.pointee.handle.bits)
    signature = OpaquePointer(bitPattern: body.pointee.signature.handle.bits)
    self.loop = loop
    argumentCount = UInt32(truncatingIfNeeded: body.pointee.signature.argumentCount)
    reserved = 0
    self.arguments = arguments
    self.result = body.pointee.signature.result.layout.size == 0 ? nil : result
  }
}
