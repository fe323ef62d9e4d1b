// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// A source: the callbacks of its context.
struct SourceBody: ItemBody {
  enum Variant: UInt8 {
    /// Version 0, one of Treadle's sources.
    case custom
    /// Version 1, one of Treadle's descriptor sources.
    case port
    /// A socket's or a file descriptor's, one of Treadle's descriptor sources; the info is that object.
    case owned
    /// A message port's or a Mach port's, the item of that port itself; the info is that object.
    case ofPort
  }
  static var kind: Kind { .source }

  var base: ItemBase
  let variant: Variant
  let order: Int
  let equal: treadle_cf_equal_fn?
  let hash: treadle_cf_hash_fn?
  var schedule: treadle_cf_schedule_fn?
  var cancel: treadle_cf_schedule_fn?
  var perform: treadle_cf_perform_fn?
  var getPort: treadle_cf_port_fn?
  /// Whether it was said already that Treadle would not watch its descriptor.
  var isRefusalTold = false
  /// Of a port's: invalidated, though the port may be valid; and the loops that it was added to. LOCK_PORTS.
  var isOver = false
  var loops = LoopList()

  /// Equal by value only if both were made with the same callbacks (SRC0-5).
  func isEqual(to other: SourceBody) -> Bool {
    guard let equal, variant == other.variant, order == other.order,
      address(equal) == address(other.equal), address(perform) == address(other.perform),
      address(hash) == address(other.hash)
    else { return false }
    return equal(client.info, other.client.info) != 0
  }

  var isValid: Bool {
    switch variant {
    case .custom: treadle_source_is_valid(handle)
    case .port, .owned: treadle_descriptor_is_valid(handle)
    case .ofPort: !lockingPorts { isOver } && treadle_is_valid(UnsafeMutableRawPointer(handle))
    }
  }

  func invalidate() -> Int32 {
    variant == .custom ? treadle_source_invalidate(handle) : treadle_descriptor_invalidate(handle)
  }
}

/// A callback as a number, to be compared; 0 for none.
func address(_ function: treadle_cf_equal_fn?) -> UInt { unsafeBitCast(function, to: UInt.self) }
func address(_ function: treadle_cf_hash_fn?) -> UInt { unsafeBitCast(function, to: UInt.self) }
func address(_ function: treadle_cf_perform_fn?) -> UInt { unsafeBitCast(function, to: UInt.self) }
