// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleCore
import TreadleBase

/// Who handles the calls of a closure: a C function with its info, or a host that knows the closure by a token.
package struct ClosureHandler {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
  package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void

  private let function: Function?
  private let info: UnsafeMutableRawPointer?
  private let destroy: Destroy?
  private let host: Host?
  private let token: UInt64

  package init(_ function: Function, info: UnsafeMutableRawPointer?, destroy: Destroy?) {
    self.function = function
    self.info = info
    self.destroy = destroy
    host = nil
    token = 0
  }

  package init(_ host: Host, token: UInt64) {
    function = nil
    info = nil
    destroy = nil
    self.host = host
    self.token = token
  }

  /// Of a body that no call leads to.
  static var none: ClosureHandler { ClosureHandler() }
  private init() {
    function = nil
    info = nil
    destroy = nil
    host = nil
    token = 0
  }

  /// Calls the client. Whether the result is what it says.
  @inline(__always)
  func handle(_ record: UnsafeMutablePointer<CallRecord>) -> Bool {
    if let function { return function(record, info) == 0 }
    return host?.handleCall(token, record, closure: record.pointee.closure, loop: record.pointee.loop) ?? false
  }

  /// No call will come any more.
  func dispose() {
    host?.retireCallToken(token)
    ClientCall.giveBack(destroy, info)
  }
}
