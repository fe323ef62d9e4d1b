// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
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

  /// A function: its address, and its name where it is exported, else its file.
  mutating func append(function code: UInt) {
    append(handle: Handle(bits: code))
    let place = treadle_system_place_of(code)
    guard let name = place.function ?? place.file else { return }
    append(" (")
    append(place.function == nil ? lastPart(ofPath: name) : name)
    if place.offset != 0 {
      append("+0x")
      append(hexadecimal: place.offset)
    }
    append(")")
  }

  /// The last part of the path of the file that an address lies in.
  mutating func append(fileOf address: UInt) {
    guard let name = treadle_system_place_of(address).file else { return append(handle: Handle(bits: address)) }
    append(lastPart(ofPath: name))
  }

  private func lastPart(ofPath path: UnsafePointer<CChar>) -> UnsafePointer<CChar> {
    strrchr(path, 47).map { UnsafePointer($0 + 1) } ?? path
  }

  private mutating func append(hexadecimal number: UInt) {
    var shift: UInt = 60
    while shift > 0 && number >> shift == 0 { shift &-= 4 }
    while true {
      let digit = UInt8(number >> shift & 15)
      append(byte: digit < 10 ? 48 &+ digit : 87 &+ digit)
      if shift == 0 { return }
      shift &-= 4
    }
  }

  /// A post or request; with the name of its function, or without.
  mutating func append(_ name: CallName, isNamed: Bool = true) {
    append((name.isRequest ? "request" : "post") as StaticString)
    if let label = name.label {
      append(" ")
      append(quoted: label)
    } else if name.code != 0 {
      append(" of function ")
      if isNamed { append(function: name.code) } else { append(handle: Handle(bits: name.code)) }
    }
  }

  /// A thread by its kernel id, and its name if it has one: what the client has given, or else the kernel's.
  mutating func append(thread id: Int32, of loop: Loop?) {
    append(Int64(id))
    var kernels = InlineArray<16, CChar>(repeating: 0)
    let isNamed = loop?.withThreadName { name in
      append(" ")
      append(quoted: name)
    }
    if isNamed == true || id == 0 { return }
    withUnsafeMutableBytes(of: &kernels) { room in
      guard let name = room.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      treadle_system_thread_name(id, name)
      if name[0] == 0 { return }
      append(" ")
      append(quoted: name)
    }
  }

  private mutating func append(byte: UInt8) {
    withUnsafePointer(to: byte) { append(UnsafeBufferPointer(start: $0, count: 1)) }
  }
}
