// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// What one argument points to, if the function gets a copy of it.
struct InvocationBuffer {
  /// The copy; nil for none.
  var copy: UnsafeMutableRawPointer? = nil
  var size = 0
  /// Where it is written back to after a call that was waited for; nil for nowhere.
  var client: UnsafeMutableRawPointer? = nil

  /// Nil when there is no memory. Never empty, so that what has no bytes has an address.
  static func allocate(_ size: Int) -> UnsafeMutableRawPointer? { treadle_system_allocate(max(size, 16)) }

  func writeBack() {
    if let copy, let client { client.copyMemory(from: copy, byteCount: size) }
  }
}
