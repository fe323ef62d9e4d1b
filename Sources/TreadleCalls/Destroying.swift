// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// The client's `destroy` of an object to which no reference is left, and its info.
struct Destroying {
  typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

  private let destroy: Function?
  private let info: UnsafeMutableRawPointer?

  init(_ destroy: Function?, _ info: UnsafeMutableRawPointer?) {
    self.destroy = destroy
    self.info = info
  }

  /// Calls it, before the object's life ends: a scope that the object belongs to is closed once this has returned.
  mutating func call(for handle: Handle) {
    ObjectCall.during(handle.bits, &self) { memory in
      guard let call = memory?.assumingMemoryBound(to: Destroying.self).pointee else { return }
      call.destroy?(call.info)
    }
  }
}
