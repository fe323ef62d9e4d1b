// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The kinds of C types that a function can take or return. The raw value is the type's character in
/// an Objective-C type encoding; of a pair of brackets the opening one.
package enum TypeCode: UInt8, BitwiseCopyable, Sendable {
  case int8 = 0x63  // c
  case uint8 = 0x43  // C
  case int16 = 0x73  // s
  case uint16 = 0x53  // S
  case int32 = 0x69  // i
  case uint32 = 0x49  // I
  case int64 = 0x71  // q
  case uint64 = 0x51  // Q
  case float = 0x66  // f
  case double = 0x64  // d
  case bool = 0x42  // B
  case void = 0x76  // v
  case string = 0x2A  // *
  case pointer = 0x5E  // ^
  case function = 0x3F  // ? after ^
  case structure = 0x7B  // {
  case array = 0x5B  // [

  /// The code of a type that is written with this one character, and nothing else.
  init?(character: UInt8) {
    guard let code = TypeCode(rawValue: character) else { return nil }
    switch code {
    case .pointer, .function, .structure, .array: return nil
    default: self = code
    }
  }

  /// The layout of a scalar; of the others, which have none of their own, that of void.
  var layout: TypeLayout {
    switch self {
    case .int8, .uint8, .bool: return TypeLayout(of: UInt8.self)
    case .int16, .uint16: return TypeLayout(of: UInt16.self)
    case .int32, .uint32: return TypeLayout(of: UInt32.self)
    case .int64, .uint64: return TypeLayout(of: UInt64.self)
    case .float: return TypeLayout(of: Float.self)
    case .double: return TypeLayout(of: Double.self)
    case .string, .pointer, .function: return TypeLayout(of: UnsafeRawPointer.self)
    case .void, .structure, .array: return TypeLayout()
    }
  }

  /// Whether C passes it as a pointer.
  var isPointer: Bool {
    isDataPointer || self == .function
  }

  /// Whether an event's handle or text can be passed as this type.
  var isDataPointer: Bool {
    self == .pointer || self == .string
  }
}
