// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI

/// What libffi leaves behind as a function's result, and takes as a closure's: an integer narrower than `ffi_arg` as
/// a whole `ffi_arg`, everything else in its own size. The one place that knows it.
enum ForeignResult {
  /// Room for a result, never less than libffi's widest registers.
  static func room(for layout: TypeLayout) -> Int {
    max(TypeLayout.align(layout.size, to: 16), 16)
  }

  /// Copies a result to where a caller wants it, in exactly its type's size. No alignment is asked of
  /// the destination.
  static func copy(_ value: SignatureValue, from room: UnsafeRawPointer, to destination: UnsafeMutableRawPointer) {
    switch value.code {
    case .int8, .uint8, .bool: store(UInt8(truncatingIfNeeded: word(room)), to: destination)
    case .int16, .uint16: store(UInt16(truncatingIfNeeded: word(room)), to: destination)
    case .int32, .uint32: store(UInt32(truncatingIfNeeded: word(room)), to: destination)
    default: destination.copyMemory(from: room, byteCount: value.layout.size)
    }
  }

  /// Makes of a result in its type's size, at the beginning of a room, what libffi takes for a closure's result.
  @inline(__always)
  static func widen(_ value: SignatureValue, in room: UnsafeMutableRawPointer) {
    switch value.code {
    case .int8: room.storeBytes(of: ffi_sarg(room.load(as: Int8.self)), as: ffi_sarg.self)
    case .int16: room.storeBytes(of: ffi_sarg(room.load(as: Int16.self)), as: ffi_sarg.self)
    case .int32: room.storeBytes(of: ffi_sarg(room.load(as: Int32.self)), as: ffi_sarg.self)
    case .uint8, .bool: room.storeBytes(of: ffi_arg(room.load(as: UInt8.self)), as: ffi_arg.self)
    case .uint16: room.storeBytes(of: ffi_arg(room.load(as: UInt16.self)), as: ffi_arg.self)
    case .uint32: room.storeBytes(of: ffi_arg(room.load(as: UInt32.self)), as: ffi_arg.self)
    default: break
    }
  }

  private static func word(_ room: UnsafeRawPointer) -> ffi_arg {
    room.load(as: ffi_arg.self)
  }

  private static func store<T: BitwiseCopyable>(_ value: T, to destination: UnsafeMutableRawPointer) {
    destination.storeBytes(of: value, as: T.self)
  }
}
