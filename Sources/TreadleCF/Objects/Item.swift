// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// An item of a run loop: it lives in Treadle, and every reference to it is one of Treadle's. Its body here
/// lives until the last reference is returned and Treadle has let go of the context.
struct Item {
  let kind: Kind
  let handle: OpaquePointer?
  /// A source that watches a descriptor.
  let isDescriptor: Bool

  init?(_ slot: Slot) {
    guard let kind = slot.kind, let body = slot.pointer.pointee.body else { return nil }
    switch kind {
    case .source:
      let source = body.assumingMemoryBound(to: SourceBody.self)
      handle = source.pointee.handle
      isDescriptor = source.pointee.variant != .custom
    case .timer:
      handle = body.assumingMemoryBound(to: TimerBody.self).pointee.handle
      isDescriptor = false
    case .observer:
      handle = body.assumingMemoryBound(to: ObserverBody.self).pointee.handle
      isDescriptor = false
    default: return nil
    }
    self.kind = kind
  }

  func retain() -> Bool {
    switch kind {
    case .timer: treadle_timer_retain(handle) >= 0
    case .observer: treadle_observer_retain(handle) >= 0
    default: (isDescriptor ? treadle_descriptor_retain(handle) : treadle_source_retain(handle)) >= 0
    }
  }

  func release() -> Bool {
    switch kind {
    case .timer: treadle_timer_release(handle) >= 0
    case .observer: treadle_observer_release(handle) >= 0
    default: (isDescriptor ? treadle_descriptor_release(handle) : treadle_source_release(handle)) >= 0
    }
  }

  func describe(_ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ length: UnsafeMutablePointer<Int>) -> Int32 {
    switch kind {
    case .timer: treadle_timer_describe(handle, buffer, capacity, length)
    case .observer: treadle_observer_describe(handle, buffer, capacity, length)
    default:
      isDescriptor
        ? treadle_descriptor_describe(handle, buffer, capacity, length)
        : treadle_source_describe(handle, buffer, capacity, length)
    }
  }
}
