// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// The C library's search for a symbol; NULL searches all that the process has loaded.
@_silgen_name("dlsym")
private func symbol(_ library: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>) -> UnsafeMutableRawPointer?

/// The address of a C function; the caller must know its type. Since 1.0.
public struct RunLoopFunction: Hashable, Sendable, CustomStringConvertible {
  let address: UInt
  /// That of a closure: kept as long as this is.
  private let closure: RunLoopClosure?

  /// The function of this name that the process has loaded, as the C library's dlsym finds it. Any thread.
  /// - Throws: `TreadleError` of the code `.notFound`. Since 1.0.
  public init(named name: String) throws(TreadleError) {
    guard !name.utf8.contains(0), let found = symbol(nil, name) else {
      throw TreadleError(.notFound, "no function “\(name)” is in the process")
    }
    address = UInt(bitPattern: found)
    closure = nil
  }

  /// The function of a pointer of C: of a `@convention(c)` function, or a raw or opaque pointer. Any thread.
  /// - Throws: `TreadleError` for a type that is no such pointer, as the one of Swift's own functions is none, and for
  ///   NULL. Since 1.0.
  @unsafe public init<Pointer>(_ pointer: Pointer) throws(TreadleError) {
    guard MemoryLayout<Pointer>.size == MemoryLayout<UInt>.size else {
      throw TreadleError(.argument, "\(Pointer.self) is no pointer of C")
    }
    address = unsafeBitCast(pointer, to: UInt.self)
    closure = nil
    if address == 0 { throw TreadleError(.argument, "the function's address is NULL") }
  }

  init(_ closure: RunLoopClosure, address: UInt) {
    self.address = address
    self.closure = closure
  }

  /// The pointer for C, of a type that the compiler cannot check: a `@convention(c)` function, or a raw or opaque
  /// pointer. Keep a closure as long as its pointer is called: afterwards the pointer returns the default result, see
  /// `RunLoopClosure`. Any thread.
  /// - Throws: `TreadleError` for a type that is no such pointer. Since 1.0.
  @unsafe public func pointer<Pointer>(as type: Pointer.Type) throws(TreadleError) -> Pointer {
    guard MemoryLayout<Pointer>.size == MemoryLayout<UInt>.size else {
      throw TreadleError(.argument, "\(Pointer.self) is no pointer of C")
    }
    return unsafeBitCast(address, to: type)
  }

  /// Calls `body` with the pointer for C; a closure lives meanwhile. Any thread.
  /// - Returns: what the body returns.
  /// - Throws: the body's own error; as `pointer`. Since 1.0.
  @unsafe public func withPointer<Pointer, Result>(as type: Pointer.Type, _ body: (Pointer) throws -> Result) throws
    -> Result
  {
    try withExtendedLifetime(self) { try body(try pointer(as: type)) }
  }

  /// Whether both are one address. Since 1.0.
  public static func == (left: RunLoopFunction, right: RunLoopFunction) -> Bool { left.address == right.address }
  /// Equal addresses hash alike. Since 1.0.
  public func hash(into hasher: inout Hasher) { hasher.combine(address) }
  /// The address. Since 1.0.
  public var description: String { "RunLoopFunction(0x\(String(address, radix: 16)))" }
}
