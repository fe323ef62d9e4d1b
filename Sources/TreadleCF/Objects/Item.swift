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
  /// A port, or its source: the item is the port's. Treadle's functions for any item know what it is.
  let isPort: Bool

  init?(_ slot: Slot) {
    guard let kind = slot.kind, let body = slot.pointer.pointee.body else { return nil }
    switch kind {
    case .source:
      let source = body.assumingMemoryBound(to: SourceBody.self)
      handle = source.pointee.handle
      isDescriptor = source.pointee.variant == .port || source.pointee.variant == .owned
      isPort = source.pointee.variant == .ofPort
    case .timer:
      handle = body.assumingMemoryBound(to: TimerBody.self).pointee.handle
      isDescriptor = false
      isPort = false
    case .observer:
      handle = body.assumingMemoryBound(to: ObserverBody.self).pointee.handle
      isDescriptor = false
      isPort = false
    case .messagePort, .machPort:
      let port = body.assumingMemoryBound(to: PortBody.self)
      // A remote port is in no loop of its client's, and its references are counted here.
      if port.pointee.isRemote { return nil }
      handle = port.pointee.handle
      isDescriptor = false
      isPort = true
    default: return nil
    }
    self.kind = kind
  }

  /// Treadle's status.
  func retain() -> Int32 {
    if isPort { return treadle_retain(UnsafeMutableRawPointer(handle)) }
    return switch kind {
    case .timer: treadle_timer_retain(handle)
    case .observer: treadle_observer_retain(handle)
    default: isDescriptor ? treadle_descriptor_retain(handle) : treadle_source_retain(handle)
    }
  }

  func release() -> Bool {
    if isPort { return treadle_release(UnsafeMutableRawPointer(handle)) >= 0 }
    return switch kind {
    case .timer: treadle_timer_release(handle) >= 0
    case .observer: treadle_observer_release(handle) >= 0
    default: (isDescriptor ? treadle_descriptor_release(handle) : treadle_source_release(handle)) >= 0
    }
  }

  func describe(_ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ length: UnsafeMutablePointer<Int>) -> Int32 {
    if isPort { return treadle_describe(UnsafeMutableRawPointer(handle), buffer, capacity, length) }
    return switch kind {
    case .timer: treadle_timer_describe(handle, buffer, capacity, length)
    case .observer: treadle_observer_describe(handle, buffer, capacity, length)
    default:
      isDescriptor
        ? treadle_descriptor_describe(handle, buffer, capacity, length)
        : treadle_source_describe(handle, buffer, capacity, length)
    }
  }
}
