// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// What a container does with its values.
struct ValueCallbacks {
  let callbacks: treadle_cf_value_callbacks

  init(_ given: UnsafePointer<treadle_cf_value_callbacks>?) {
    callbacks = given?.pointee ?? treadle_cf_value_callbacks()
  }

  init(_ callbacks: treadle_cf_value_callbacks) { self.callbacks = callbacks }

  func retain(_ value: UInt) -> UInt { callbacks.retain.map { $0(0, value) } ?? value }
  func release(_ value: UInt) { callbacks.release?(0, value) }
  func isEqual(_ one: UInt, _ other: UInt) -> Bool {
    one == other || callbacks.equal.map { $0(one, other) != 0 } ?? false
  }

  /// Adds a line about a value.
  func describe(_ value: UInt, _ out: inout ByteBuffer) {
    guard let describe = callbacks.describe else { return out.append(pointer: value) }
    let text = describe(value)
    if text == 0 { return out.append(pointer: value) }
    strings(text, "CFCopyDescription", ()) { out.append($0.pointee.bytes, $0.pointee.count) }
    cfRelease(text)
  }
}

extension ByteBuffer {
  mutating func append(pointer: UInt) {
    if reserve(24), let bytes {
      count &+= Int(treadle_cf_text_of_pointer(UnsafeMutableRawPointer(bytes + count).assumingMemoryBound(to: CChar.self), 24, pointer))
    }
  }

  mutating func append(integer: Int64) {
    if reserve(24), let bytes {
      count &+= Int(treadle_cf_text_of_integer(UnsafeMutableRawPointer(bytes + count).assumingMemoryBound(to: CChar.self), 24, integer))
    }
  }

  mutating func append(double: Double) {
    if reserve(40), let bytes {
      count &+= Int(treadle_cf_text_of_double(UnsafeMutableRawPointer(bytes + count).assumingMemoryBound(to: CChar.self), 40, double))
    }
  }
}
