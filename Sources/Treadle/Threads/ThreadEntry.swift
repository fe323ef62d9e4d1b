// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// What a thread runs, and how its info goes back.
package struct ThreadEntry {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void

  var code: Function?
  var info: UnsafeMutableRawPointer?
  var destroy: Destroy?
  /// In place of `code`: the host that gets an event with this token.
  var host: UnsafeMutableRawPointer? = nil
  var token: UInt64 = 0

  package init(code: Function?, info: UnsafeMutableRawPointer?, destroy: Destroy?) {
    self.code = code
    self.info = info
    self.destroy = destroy
  }

  func run(_ thread: Thread) -> UnsafeMutableRawPointer? {
    if let code { return code(info) }
    if let host {
      var event = Event(Event.Kind.thread, token: token, loop: nil, subject: thread.handle.bits, mode: nil)
      Host(host).runEntry(&event)
    }
    return nil
  }

  /// It has run, or never will.
  func dispose() {
    if host != nil { Host.retireToken(host, token) }
    destroy?(info)
  }
}
