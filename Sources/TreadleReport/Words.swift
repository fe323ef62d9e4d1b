// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
import TreadleBase

/// How the reports write what is not text. The text is for people, and its form is nobody's interface.
extension FixedText {
  mutating func append(handle: Handle) {
    append("0x")
    var shift = 64
    while shift > 0 {
      shift &-= 4
      let digit = UInt8(handle.bits >> UInt(shift) & 15)
      append(byte: digit < 10 ? 48 &+ digit : 87 &+ digit)
    }
  }

  /// In quotes, on one line.
  mutating func append(quoted text: UnsafePointer<CChar>) {
    append("\"")
    var next = text
    while next.pointee != 0 {
      let byte = UInt8(bitPattern: next.pointee)
      append(byte: byte < 32 || byte == 127 ? 32 : byte)
      next += 1
    }
    append("\"")
  }

  /// In seconds, to the microsecond.
  mutating func append(nanoseconds: Int64) {
    if nanoseconds < 0 { append("-") }
    let microseconds = nanoseconds.magnitude / 1000
    append(Int64(microseconds / 1_000_000))
    append(".")
    var unit: UInt64 = 100_000
    while unit > 0 {
      append(byte: 48 &+ UInt8(microseconds / unit % 10))
      unit /= 10
    }
    append(" s")
  }

  private mutating func append(byte: UInt8) {
    withUnsafePointer(to: byte) { append(UnsafeBufferPointer(start: $0, count: 1)) }
  }
}
