// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// A message of Protocol Buffers that is being written: fields behind each other, as tags and values. Of fixed size,
/// since what is written here is short; a field that has no room is left out.
struct ProtobufMessage {
  private var bytes = InlineArray<640, UInt8>(repeating: 0)
  private(set) var count = 0

  private enum Wire {
    static let varint: UInt64 = 0
    static let fixed64: UInt64 = 1
    static let bytes: UInt64 = 2
  }
  private static let capacity = 640
  /// Of a tag, a length and a varint.
  private static let mostOfVarint = 10

  mutating func number(_ field: UInt64, _ value: UInt64) {
    if !hasRoom(2 &* ProtobufMessage.mostOfVarint) { return }
    varint(field << 3 | Wire.varint)
    varint(value)
  }

  mutating func fixed64(_ field: UInt64, _ value: UInt64) {
    if !hasRoom(ProtobufMessage.mostOfVarint &+ 8) { return }
    varint(field << 3 | Wire.fixed64)
    for shift in 0..<8 { put(UInt8(truncatingIfNeeded: value >> UInt64(shift &* 8))) }
  }

  mutating func text(_ field: UInt64, _ text: UnsafePointer<CChar>) {
    var length = 0
    while text[length] != 0 { length &+= 1 }
    self.text(field, UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), length)
  }
  mutating func text(_ field: UInt64, _ text: StaticString) { self.text(field, text.utf8Start, text.utf8CodeUnitCount) }

  private mutating func text(_ field: UInt64, _ text: UnsafePointer<UInt8>, _ length: Int) {
    if !hasRoom(2 &* ProtobufMessage.mostOfVarint &+ length) { return }
    varint(field << 3 | Wire.bytes)
    varint(UInt64(length))
    for index in 0..<length { put(text[index]) }
  }

  mutating func message(_ field: UInt64, _ message: ProtobufMessage) {
    if !hasRoom(2 &* ProtobufMessage.mostOfVarint &+ message.count) { return }
    varint(field << 3 | Wire.bytes)
    varint(UInt64(message.count))
    for index in 0..<message.count { put(message.bytes[index]) }
  }

  func append(to buffer: inout Buffer<UInt8>) -> Bool {
    if !buffer.reserve(buffer.count &+ count) { return false }
    for index in 0..<count { _ = buffer.appendInRoom(bytes[index]) }
    return true
  }

  private func hasRoom(_ size: Int) -> Bool { count &+ size <= ProtobufMessage.capacity }
  private mutating func put(_ byte: UInt8) {
    if count < ProtobufMessage.capacity { bytes[count] = byte }
    count &+= 1
  }
  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 128 {
      put(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    put(UInt8(rest))
  }
}
