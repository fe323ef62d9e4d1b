// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a call came to, in the numbers of the C ABI (`include/treadle/types.h`).
///
/// The ABI's tests compare these with the header's constants.
public enum Status {
  public static let ok: Int32 = 0
  public static let finished: Int32 = 1
  public static let stopped: Int32 = 2
  public static let timedOut: Int32 = 3
  public static let handledSource: Int32 = 4
  public static let interrupted: Int32 = 5
  public static let ignored: Int32 = 16
  public static let deferred: Int32 = 17

  public static let argument: Int32 = -1
  public static let stale: Int32 = -2
  public static let kind: Int32 = -3
  public static let noMemory: Int32 = -4
  public static let state: Int32 = -5
  public static let exists: Int32 = -6
  public static let notFound: Int32 = -7
  public static let wrongThread: Int32 = -8
  public static let deadlock: Int32 = -9
  public static let timeout: Int32 = -10
  public static let forked: Int32 = -11
  public static let tooNew: Int32 = -12
  public static let system: Int32 = -13
  public static let callback: Int32 = -14
  public static let closed: Int32 = -15
  public static let range: Int32 = -16
  public static let signature: Int32 = -17
  public static let notSupported: Int32 = -18
  public static let cancelled: Int32 = -19
  public static let plugin: Int32 = -20
  public static let noReply: Int32 = -21
}

/// Why a call failed: a status, and a sentence in two halves, the argument or the cause, and what is wrong.
public struct Failure: Error {
  public let status: Int32
  public let subject: StaticString
  public let text: StaticString
  public let osError: Int32

  public init(_ status: Int32, _ subject: StaticString, _ text: StaticString, osError: Int32 = 0) {
    self.status = status
    self.subject = subject
    self.text = text
    self.osError = osError
  }

  /// Memory, or the room of a table, is used up.
  public static func noMemory(_ subject: StaticString) -> Failure {
    Failure(Status.noMemory, subject, "cannot be had: out of memory")
  }

  /// A system call failed: its result, which is `-errno`.
  public static func system(_ subject: StaticString, _ result: Int32) -> Failure {
    Failure(Status.system, subject, "failed in the system", osError: 0 &- result)
  }
}
