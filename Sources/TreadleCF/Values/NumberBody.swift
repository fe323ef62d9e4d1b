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
    switch type {
    case 1: integer = Int64(value.loadUnaligned(as: Int8.self))
    case 2: integer = Int64(value.loadUnaligned(as: Int16.self))
    case 3: integer = Int64(value.loadUnaligned(as: Int32.self))
    case 4: integer = value.loadUnaligned(as: Int64.self)
    default: integer = 0
    }
    floating =
      type == 5 ? Double(value.loadUnaligned(as: Float.self)) : type == 6 ? value.loadUnaligned(as: Double.self) : 0
    // As in CoreFoundation, which has one object for each of these.
    let isSmall = type <= 4 && integer >= -1 && integer <= 12
    self.type = isSmall ? 3 : type == 5 && !floating.isFinite ? 6 : type
  }

  var asDouble: Double { isFloating ? floating : Double(integer) }

  /// Stores the number as a type; whether it is still the same. An integer is cut to the low bytes, a floating number
  /// to a whole one first, of 8 or of 4 bytes, which is the least of all if it is too large or none.
  func store(_ type: Int, _ to: UnsafeMutableRawPointer) -> Bool? {
    switch NumberBody.canonical(type) {
    case 1: return stored(Int8(truncatingIfNeeded: cut(Int32.self)), to)
    case 2: return stored(Int16(truncatingIfNeeded: cut(Int32.self)), to)
    case 3: return stored(Int32(truncatingIfNeeded: cut(Int32.self)), to)
    case 4: return stored(cut(Int64.self), to)
    case 5:
      let value = Float(asDouble)
      to.storeBytes(of: value, as: Float.self)
      return isSame(Double(value))
    case 6:
      to.storeBytes(of: asDouble, as: Double.self)
      return floating.isNaN || isSame(asDouble)
    default: return nil
    }
  }

  private func cut<Whole: FixedWidthInteger & SignedInteger>(_ whole: Whole.Type) -> Int64 {
    if !isFloating { return integer }
    let limit = -Double(Whole.min)
    return floating > -limit - 1 && floating < limit ? Int64(floating) : Int64(truncatingIfNeeded: Whole.min)
  }

  private func stored<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, _ to: UnsafeMutableRawPointer) -> Bool
  {
    to.storeBytes(of: value, as: Value.self)
    let kept = Int64(truncatingIfNeeded: value)
    return isFloating ? NumberBody.order(kept, floating) == 0 || floating == 0 && kept == 0 : kept == integer
  }

  /// Whether a floating number is this one.
  private func isSame(_ value: Double) -> Bool {
    isFloating ? value == floating : NumberBody.order(integer, value) == 0
  }

  /// An integer and a floating number, exactly; what is no number comes before every integer, -0 before 0.
  private static func order(_ integer: Int64, _ floating: Double) -> Int {
    if floating.isNaN { return 1 }
    if floating >= 0x1p63 { return -1 }
    if floating < -0x1p63 { return 1 }
    let whole = Int64(floating)
    if integer != whole { return integer < whole ? -1 : 1 }
    let rest = floating - Double(whole)
    if rest != 0 { return rest > 0 ? -1 : 1 }
    return whole == 0 && floating.sign == .minus ? 1 : 0
  }

  func compare(_ other: NumberBody) -> Int {
    switch (isFloating, other.isFloating) {
    case (false, false): return integer < other.integer ? -1 : integer > other.integer ? 1 : 0
    case (false, true): return NumberBody.order(integer, other.floating)
    case (true, false): return 0 &- NumberBody.order(other.integer, floating)
    case (true, true):
      let one = floating, two = other.floating
      // What is no number is between the negative ones and 0.
      if one.isNaN { return two.isNaN ? 0 : two.sign == .minus ? 1 : -1 }
      if two.isNaN { return one.sign == .minus ? -1 : 1 }
      if one == 0 && two == 0 { return one.sign == two.sign ? 0 : one.sign == .minus ? -1 : 1 }
      return one < two ? -1 : one > two ? 1 : 0
    }
  }

  /// Equal numbers have equal hashes, also an integer and a floating one.
  var hash: UInt { spread(asDouble == 0 ? 0 : asDouble.isNaN ? 1 : asDouble.bitPattern) }
}
