// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A callback that is not a plain C function of its kind: a routine, or a host's dispatch.
///
/// `invoke` gets `object` and the address of an `Event`, and answers whether the callback completed.
/// `drop` gives up the reference to `object`.
package struct IndirectCallback {
  package typealias Invoke = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?) -> Bool
  package typealias Drop = @convention(c) (UnsafeMutableRawPointer?) -> Void

  package var object: UnsafeMutableRawPointer?
  package var invoke: Invoke?
  package var drop: Drop?
  /// How the callback is called without an event, if it can be; in the object's memory.
  package var direct: UnsafePointer<DirectCall>?

  package init(
    object: UnsafeMutableRawPointer?, invoke: Invoke?, drop: Drop?, direct: UnsafePointer<DirectCall>? = nil
  ) {
    self.object = object
    self.invoke = invoke
    self.drop = drop
    self.direct = direct
  }

  /// Gives the reference up, unless that was done.
  package mutating func dropOnce() {
    guard let drop else { return }
    self.drop = nil
    drop(object)
  }
}

/// Callbacks of a host that is not called, but fetches its events. They are told by their `drop`, which does nothing;
/// `invoke` answers without an event whether the host takes none any more, and forgets one that it is given.
extension IndirectCallback {
  package static let dropFetched: Drop = { _ in }

  /// Whether it is for its host to fetch: it cannot be called.
  @inline(__always)
  package var isFetched: Bool {
    guard let drop, unsafeBitCast(drop, to: UInt.self) == unsafeBitCast(IndirectCallback.dropFetched, to: UInt.self)
    else {
      return false
    }
    return invoke?(object, nil) == false
  }

  /// Whether it is called by this very host.
  @inline(__always)
  package func isOf(_ host: UnsafeMutableRawPointer) -> Bool { object == host && direct == nil }

  /// For what a host is told of by a call, wherever it happens.
  package func demandCall() throws(Failure) {
    if isFetched { throw Failure(Status.notSupported, "host", "has no dispatch function, which this needs") }
  }
}

/// A callback that is one plain C function with a pointer bound to it, and so needs no event to be called. Constant.
package struct DirectCall {
  package typealias Code = @convention(c) () -> Void

  /// What the function takes before its pointer: the types of the items' plain callbacks.
  package enum Form: UInt8 {
    case nothing
    case subject
    case subjectAndValue
  }

  private let code: Code
  private let info: UnsafeMutableRawPointer?
  private let form: Form

  package init(_ code: @escaping Code, info: UnsafeMutableRawPointer?, form: Form) {
    self.code = code
    self.info = info
    self.form = form
  }

  /// Nothing of this is looked at after the function has begun: it may give its routine up.
  @inline(__always)
  package func perform(subject: UnsafeMutableRawPointer?, value: UInt32) {
    switch form {
    case .nothing:
      typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Function.self)(info)
    case .subject:
      typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Function.self)(subject, info)
    case .subjectAndValue:
      typealias Function = @convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Function.self)(subject, value, info)
    }
  }
}
