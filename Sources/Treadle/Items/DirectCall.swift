// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A callback that is one plain C function with a pointer bound to it, and so needs no event to be called. Constant.
package struct DirectCall {
  package typealias Code = @convention(c) () -> Void

  /// What the function takes before its pointer: the types of the items' plain callbacks.
  package enum Form: UInt8 {
    case nothing
    case subject
    case subjectAndValue
  }

  let code: Code
  let info: UnsafeMutableRawPointer?
  let form: Form

  package init(_ code: @escaping Code, info: UnsafeMutableRawPointer?, form: Form) {
    self.code = code
    self.info = info
    self.form = form
  }

  /// Nothing of this is looked at after the function has begun: it may give its routine up.
  @inline(__always)
  func perform(subject: UnsafeMutableRawPointer?, value: UInt32) {
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
