// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// Why a call was refused: a sentence that names the argument or the cause, with a code to compare. Since 1.0.
public struct TreadleError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The code, in the C interface's numbers. More may come. Since 1.0.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The C interface's number, which is negative. Since 1.0.
    public let rawValue: Int32
    /// A code of this number. Since 1.0.
    public init(rawValue: Int32) { self.rawValue = rawValue }
    init(_ number: Int) { rawValue = Int32(truncatingIfNeeded: number) }

    /// An argument is badly formed, or outside of what it may be. Since 1.0.
    public static let argument = Code(TREADLE_E_ARG)
    /// The object is gone. Since 1.0.
    public static let stale = Code(TREADLE_E_STALE)
    /// The object is of another kind. Since 1.0.
    public static let kind = Code(TREADLE_E_KIND)
    /// Out of memory, or of a table's room. Since 1.0.
    public static let noMemory = Code(TREADLE_E_NOMEM)
    /// The object's state does not allow it. Since 1.0.
    public static let state = Code(TREADLE_E_STATE)
    /// There is one already. Since 1.0.
    public static let exists = Code(TREADLE_E_EXISTS)
    /// There is none. Since 1.0.
    public static let notFound = Code(TREADLE_E_NOT_FOUND)
    /// Only one thread may, and it is not the calling one. Since 1.0.
    public static let wrongThread = Code(TREADLE_E_WRONG_THREAD)
    /// The call would wait for its own caller. Since 1.0.
    public static let deadlock = Code(TREADLE_E_DEADLOCK)
    /// The wait took longer than allowed. Since 1.0.
    public static let timeout = Code(TREADLE_E_TIMEOUT)
    /// The process is the child of a fork (RL-11). Since 1.0.
    public static let forked = Code(TREADLE_E_FORKED)
    /// The library is older than what it was asked for. Since 1.0.
    public static let tooNew = Code(TREADLE_E_TOO_NEW)
    /// A system call failed; `errno` tells how. Since 1.0.
    public static let system = Code(TREADLE_E_SYSTEM)
    /// A callback of a host language did not complete. Since 1.0.
    public static let callback = Code(TREADLE_E_CALLBACK)
    /// The loop, its thread or the scope takes no more work. Since 1.0.
    public static let closed = Code(TREADLE_E_CLOSED)
    /// A number is outside of its range. Since 1.0.
    public static let range = Code(TREADLE_E_RANGE)
    /// A type encoding is malformed, or cannot be called. Since 1.0.
    public static let signature = Code(TREADLE_E_SIGNATURE)
    /// This build, machine or process cannot. Since 1.0.
    public static let notSupported = Code(TREADLE_E_NOT_SUPPORTED)
    /// A plugin is refused, or breaks its contract. Since 1.0.
    public static let plugin = Code(TREADLE_E_PLUGIN)
    /// Somebody cancelled it. Since 1.0.
    public static let cancelled = Code(TREADLE_E_CANCELLED)
    /// The message was sent, and its reply did not come in time. Since 1.0.
    public static let noReply = Code(TREADLE_E_NO_REPLY)

    /// The code's name in the C interface, such as TREADLE_E_STALE. Since 1.0.
    public var description: String { treadle_status_name(rawValue).map { String(cString: $0) } ?? "\(rawValue)" }
  }

  /// The code. Since 1.0.
  public let code: Code
  /// One sentence that names the argument or the cause. Since 1.0.
  public let message: String
  /// The error number of the system call that failed; 0 for none. Since 1.0.
  public let errno: Int32

  /// The sentence and the code. Since 1.0.
  public var description: String { "\(message) (\(code)\(errno == 0 ? "" : ", errno \(errno)"))" }

  package init(_ code: Code, _ message: String, errno: Int32 = 0) {
    self.code = code
    self.message = message
    self.errno = errno
  }

  /// What the calling thread's last refused call, which answered `status`, left behind.
  init(_ status: treadle_status) {
    var last = treadle_error_info()
    last.struct_size = MemoryLayout<treadle_error_info>.size
    let isKnown = treadle_last_error(&last) == TREADLE_OK && last.code == status
    code = Code(rawValue: status)
    errno = isKnown ? last.os_errno : 0
    message = isKnown ? textOf(&last.message) : treadle_status_message(status).map { String(cString: $0) } ?? ""
  }
}

/// The text of a C array of characters, which ends with a NUL or with the array.
func textOf<Characters>(_ characters: inout Characters) -> String {
  withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// Throws what a call was refused for; else its result, which is not negative.
@inline(__always) @discardableResult
func check(_ status: treadle_status) throws(TreadleError) -> treadle_status {
  if status < 0 { throw TreadleError(status) }
  return status
}

/// A handle that a call has answered, or the reason why there is none.
@inline(__always)
func checkHandle(_ handle: OpaquePointer?) throws(TreadleError) -> OpaquePointer {
  if let handle { return handle }
  var last = treadle_error_info()
  last.struct_size = MemoryLayout<treadle_error_info>.size
  _ = treadle_last_error(&last)
  throw TreadleError(last.code)
}
