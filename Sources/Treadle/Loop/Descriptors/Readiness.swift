// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a descriptor is ready for, in the C ABI's numbers.
package enum Readiness {
  package static let readable: UInt32 = 1
  package static let writable: UInt32 = 2
  package static let hangup: UInt32 = 4
  package static let failed: UInt32 = 8

  // The kernel's bits.
  private static let kernelIn: UInt32 = 0x001
  private static let kernelOut: UInt32 = 0x004
  private static let kernelError: UInt32 = 0x008
  private static let kernelHangup: UInt32 = 0x010
  /// epoll says it of none: this library does, of one that was closed (`reportClosed`).
  static let kernelInvalid: UInt32 = 0x020
  private static let kernelHalfClosed: UInt32 = 0x2000
  /// Of a descriptor that is always ready.
  static let kernelAlways = kernelIn | kernelOut

  @inline(__always)
  static func toKernel(_ events: UInt16) -> UInt32 {
    (UInt32(events) & readable != 0 ? kernelIn | kernelHalfClosed : 0) | (UInt32(events) & writable != 0 ? kernelOut : 0)
  }

  /// Hang-up and error count as what is watched for, so that the client reads and sees them (SRC1-8). One that was closed does
  /// not: its number may be another's.
  @inline(__always)
  static func fromKernel(_ bits: UInt32, watched: UInt32) -> UInt32 {
    var events: UInt32 = 0
    if bits & kernelIn != 0 { events |= readable }
    if bits & kernelOut != 0 { events |= writable }
    if bits & (kernelHangup | kernelHalfClosed) != 0 { events |= hangup }
    if bits & (kernelError | kernelInvalid) != 0 { events |= failed }
    if bits & (kernelHangup | kernelError) != 0 { events |= watched }
    return events & (watched | hangup | failed)
  }
}
