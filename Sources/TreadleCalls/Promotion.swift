// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// C's default promotions of variadic arguments: a float is passed as a double, an integer narrower than int as an
/// int. Clients give and get them in their own size.
enum Promotion {
  /// What an argument of this type is passed as.
  static func promoted(_ code: TypeCode) -> TypeCode {
    switch code {
    case .float: return .double
    case .int8, .uint8, .int16, .uint16, .bool: return .int32
    default: return code
    }
  }

  /// Puts a client's value where it lies in a frame. No alignment is asked of it.
  static func store(_ value: UnsafeRawPointer, of argument: SignatureValue, to frame: UnsafeMutableRawPointer) {
    let place = frame + argument.offset
    if !argument.isPromoted {
      place.copyMemory(from: value, byteCount: argument.layout.size)
      return
    }
    switch argument.code {
    case .float: place.storeBytes(of: Double(value.loadUnaligned(as: Float.self)), as: Double.self)
    case .int8: place.storeBytes(of: Int32(value.load(as: Int8.self)), as: Int32.self)
    case .uint8, .bool: place.storeBytes(of: Int32(value.load(as: UInt8.self)), as: Int32.self)
    case .int16: place.storeBytes(of: Int32(value.loadUnaligned(as: Int16.self)), as: Int32.self)
    default: place.storeBytes(of: Int32(value.loadUnaligned(as: UInt16.self)), as: Int32.self)
    }
  }

  /// The other way around.
  static func load(_ argument: SignatureValue, from frame: UnsafeRawPointer, to value: UnsafeMutableRawPointer) {
    let place = frame + argument.offset
    if !argument.isPromoted {
      value.copyMemory(from: place, byteCount: argument.layout.size)
      return
    }
    if argument.code == .float {
      value.storeBytes(of: Float(place.load(as: Double.self)), as: Float.self)
      return
    }
    let number = place.load(as: Int32.self)
    if argument.layout.size == 1 {
      value.storeBytes(of: UInt8(truncatingIfNeeded: number), as: UInt8.self)
    } else {
      value.storeBytes(of: UInt16(truncatingIfNeeded: number), as: UInt16.self)
    }
  }
}
