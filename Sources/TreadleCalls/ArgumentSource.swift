// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore

/// Where an argument of a routine comes from. The raw values are the C header's `TREADLE_ARGUMENT_...`.
package enum ArgumentSource: UInt32, BitwiseCopyable, Sendable {
  case bound = 0
  case loop = 1
  case mode = 2
  case subject = 3
  case value = 4
  case descriptor = 5
  case late = 6
  case event = 7
  case argument = 8

  /// Whether an argument of this type can take it.
  func fits(_ code: TypeCode) -> Bool {
    switch self {
    case .bound: return true
    case .loop, .mode, .subject, .event, .argument: return code.isDataPointer
    case .value, .descriptor:
      switch code {
      case .int32, .uint32, .int64, .uint64: return true
      default: return false
      }
    case .late: return code == .int64 || code == .uint64
    }
  }

  /// Writes what the event supplies as a value of this size: a pointer, or an integer of 4 or 8 bytes.
  @inline(__always)
  func store(_ event: UnsafePointer<Event>, to argument: UnsafeMutableRawPointer, size: Int) {
    switch self {
    case .bound: break
    case .loop: argument.storeBytes(of: event.pointee.loop, as: OpaquePointer?.self)
    case .mode: argument.storeBytes(of: event.pointee.mode, as: UnsafePointer<CChar>?.self)
    case .subject: argument.storeBytes(of: event.pointee.subject, as: UnsafeMutableRawPointer?.self)
    case .argument: argument.storeBytes(of: event.pointee.argument, as: UnsafeMutableRawPointer?.self)
    case .event: argument.storeBytes(of: event, as: UnsafePointer<Event>.self)
    case .value: ArgumentSource.store(Int64(event.pointee.value), to: argument, size: size)
    case .descriptor: ArgumentSource.store(Int64(event.pointee.descriptor), to: argument, size: size)
    case .late: ArgumentSource.store(event.pointee.late, to: argument, size: size)
    }
  }

  @inline(__always)
  private static func store(_ number: Int64, to argument: UnsafeMutableRawPointer, size: Int) {
    if size == MemoryLayout<Int64>.size {
      argument.storeBytes(of: number, as: Int64.self)
    } else {
      argument.storeBytes(of: Int32(truncatingIfNeeded: number), as: Int32.self)
    }
  }
}
