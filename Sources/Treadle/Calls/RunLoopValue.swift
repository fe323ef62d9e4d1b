// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// An argument for a C function whose type is known only at run time: numbers, `Bool`, pointers, and strings. Since
/// 1.0.
public protocol RunLoopArgument: SendableMetatype {
  /// The type's code in the notation of signatures, which `treadle_signature_parse` describes. Of the type's own size:
  /// what is not is refused where it is used. Since 1.0.
  static var typeEncoding: String { get }
}

/// A value that may also come from C, as a closure's argument or a function's result: any bits of the size are a value,
/// zeros too. So a pointer is optional. A struct of C's may conform:
///
///     extension Point: RunLoopValue { public static var typeEncoding: String { "{Point=dd}" } }
///
/// Since 1.0.
public protocol RunLoopValue: RunLoopArgument, BitwiseCopyable {}

extension Int8: RunLoopValue {
  /// int8_t. Since 1.0.
  public static var typeEncoding: String { "c" }
}

extension UInt8: RunLoopValue {
  /// uint8_t. Since 1.0.
  public static var typeEncoding: String { "C" }
}

extension Int16: RunLoopValue {
  /// int16_t. Since 1.0.
  public static var typeEncoding: String { "s" }
}

extension UInt16: RunLoopValue {
  /// uint16_t. Since 1.0.
  public static var typeEncoding: String { "S" }
}

extension Int32: RunLoopValue {
  /// int32_t. Since 1.0.
  public static var typeEncoding: String { "i" }
}

extension UInt32: RunLoopValue {
  /// uint32_t. Since 1.0.
  public static var typeEncoding: String { "I" }
}

extension Int64: RunLoopValue {
  /// int64_t. Since 1.0.
  public static var typeEncoding: String { "q" }
}

extension UInt64: RunLoopValue {
  /// uint64_t. Since 1.0.
  public static var typeEncoding: String { "Q" }
}

extension Int: RunLoopValue {
  /// long, ssize_t, intptr_t. Since 1.0.
  public static var typeEncoding: String { "q" }
}

extension UInt: RunLoopValue {
  /// unsigned long, size_t, uintptr_t. Since 1.0.
  public static var typeEncoding: String { "Q" }
}

extension Float: RunLoopValue {
  /// float. Since 1.0.
  public static var typeEncoding: String { "f" }
}

extension Double: RunLoopValue {
  /// double. Since 1.0.
  public static var typeEncoding: String { "d" }
}

extension Bool: RunLoopValue {
  /// bool. Since 1.0.
  public static var typeEncoding: String { "B" }
}

extension String: RunLoopArgument {
  /// char *: of a copy in UTF-8, which an invocation keeps. Since 1.0.
  public static var typeEncoding: String { "O*" }
}

/// A pointer, passed as it is: what it points to is its owner's to keep. Since 1.0.
public protocol RunLoopPointer: RunLoopArgument, BitwiseCopyable {}

extension RunLoopPointer {
  /// void *. Since 1.0.
  public static var typeEncoding: String { "^v" }
}

extension UnsafeRawPointer: RunLoopPointer {}
extension UnsafeMutableRawPointer: RunLoopPointer {}
extension UnsafePointer: RunLoopPointer {}
extension UnsafeMutablePointer: RunLoopPointer {}
extension OpaquePointer: RunLoopPointer {}

extension Optional: RunLoopArgument where Wrapped: RunLoopPointer {
  /// That of the pointer; nil is NULL. Since 1.0.
  public static var typeEncoding: String { Wrapped.typeEncoding }
}

extension Optional: RunLoopValue where Wrapped: RunLoopPointer {}
