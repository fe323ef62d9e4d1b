// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A number: an integer or a floating one, and the type that it was made of.
struct NumberBody: Body {
  static var kind: Kind { .number }

  /// 1 to 4: integers of 1 to 8 bytes; 5 and 6: floating numbers of 4 and 8.
  let type: Int
  let integer: Int64
  let floating: Double

  var isFloating: Bool { type >= 5 }
  var size: Int { type == 1 ? 1 : type == 2 ? 2 : type == 3 || type == 5 ? 4 : 8 }

  /// Which of the six sized types a type of the header is; nil for none.
  static func canonical(_ type: Int) -> Int? {
    switch type {
    case 1...6: type
    case 7: 1
    case 8: 2
    case 9: 3
    case 10, 11, 14, 15: 4
    case 12: 5
    case 13, 16: 6
    default: nil
    }
  }

  init?(_ type: Int, _ value: UnsafeRawPointer) {
    guard let type = NumberBody.canonical(type) else { return nil }
    self.type = type
    switch type {
    case 1: integer = Int64(value.loadUnaligned(as: Int8.self))
    case 2: integer = Int64(value.loadUnaligned(as: Int16.self))
    case 3: integer = Int64(value.loadUnaligned(as: Int32.self))
    case 4: integer = value.loadUnaligned(as: Int64.self)
    default: integer = 0
    }
    floating = type == 5 ? Double(value.loadUnaligned(as: Float.self)) : type == 6 ? value.loadUnaligned(as: Double.self) : 0
  }

  var asDouble: Double { isFloating ? floating : Double(integer) }

  /// As an integer, towards zero, and within its limits.
  var asInteger: Int64 {
    if !isFloating { return integer }
    if floating.isNaN { return 0 }
    return floating >= 9.2233720368547758e18 ? Int64.max : floating <= -9.2233720368547758e18 ? Int64.min : Int64(floating)
  }

  /// Stores the number as a type; whether it is still the same.
  func store(_ type: Int, _ to: UnsafeMutableRawPointer) -> Bool? {
    let whole = asInteger
    let exact = !isFloating || Double(whole) == floating
    switch NumberBody.canonical(type) {
    case 1: return stored(Int8(clamping: whole), to, whole, exact)
    case 2: return stored(Int16(clamping: whole), to, whole, exact)
    case 3: return stored(Int32(clamping: whole), to, whole, exact)
    case 4: return stored(whole, to, whole, exact)
    case 5:
      let value = Float(asDouble)
      to.storeBytes(of: value, as: Float.self)
      return isSame(Double(value))
    case 6:
      to.storeBytes(of: asDouble, as: Double.self)
      return isSame(asDouble)
    default: return nil
    }
  }

  private func stored<Value: FixedWidthInteger & BitwiseCopyable>(
    _ value: Value, _ to: UnsafeMutableRawPointer, _ whole: Int64, _ exact: Bool
  ) -> Bool {
    to.storeBytes(of: value, as: Value.self)
    return exact && Int64(truncatingIfNeeded: value) == whole
  }

  private func isSame(_ value: Double) -> Bool {
    if isFloating { return value == floating || value.isNaN && floating.isNaN }
    return value < 9.2233720368547758e18 && value >= -9.2233720368547758e18 && Int64(value) == integer
  }

  func compare(_ other: NumberBody) -> Int {
    if !isFloating && !other.isFloating { return integer < other.integer ? -1 : integer > other.integer ? 1 : 0 }
    let one = asDouble, two = other.asDouble
    if one.isNaN || two.isNaN { return one.isNaN && two.isNaN ? 0 : one.isNaN ? 1 : -1 }
    return one < two ? -1 : one > two ? 1 : 0
  }

  /// Equal numbers have equal hashes, also an integer and a floating one.
  var hash: UInt { spread(asDouble == 0 ? 0 : asDouble.bitPattern) }
}
