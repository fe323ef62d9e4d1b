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
  /// A host, its token, and the thread's handle.
  typealias RunForHost = @convention(c) (UnsafeMutableRawPointer?, UInt64, UInt) -> Void
  typealias Retire = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void
  /// In place of `code`: the host that is told, by what, and how its token is retired at the end.
  private var host: UnsafeMutableRawPointer? = nil
  private var token: UInt64 = 0
  private var runForHost: RunForHost? = nil
  private var retire: Retire? = nil

  package init(code: Function?, info: UnsafeMutableRawPointer?, destroy: Destroy?) {
    self.code = code
    self.info = info
    self.destroy = destroy
  }

  init(host: UnsafeMutableRawPointer, token: UInt64, run: @escaping RunForHost, retire: @escaping Retire) {
    self.init(code: nil, info: nil, destroy: nil)
    self.host = host
    self.token = token
    runForHost = run
    self.retire = retire
  }

  func run(_ thread: Thread) -> UnsafeMutableRawPointer? {
    if let code { return code(info) }
    runForHost?(host, token, thread.handle.bits)
    return nil
  }

  /// It has run, or never will.
  func dispose() {
    retire?(host, token)
    destroy?(info)
  }
}
