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

  /// What the container keeps; nil for a value that was not retained.
  func retain(_ value: UInt) -> UInt? {
    let kept = callbacks.retain.map { $0(0, value) } ?? value
    return kept == 0 && value != 0 ? nil : kept
  }
  func release(_ value: UInt) { callbacks.release?(0, value) }
  func isEqual(_ one: UInt, _ other: UInt) -> Bool {
    one == other || callbacks.equal.map { $0(one, other) != 0 } ?? false
  }

  /// Adds a line about a value.
  func describe(_ value: UInt, _ out: inout Text) {
    guard let describe = callbacks.describe else { return out.append(pointer: value) }
    let text = describe(value)
    if text == 0 { return out.append(pointer: value) }
    texts(text, "CFCopyDescription", ()) { out.append($0) }
    cfRelease(text)
  }
}
