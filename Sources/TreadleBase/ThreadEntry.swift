// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a thread runs, and how its info goes back.
package struct ThreadEntry {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void

  private let code: Function?
  private let info: UnsafeMutableRawPointer?
  private let destroy: Destroy?
  /// A host, its token, and the thread's handle.
  package typealias RunForHost = @convention(c) (UnsafeMutableRawPointer?, UInt64, UInt) -> Void
  package typealias Retire = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void
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

  package init(host: UnsafeMutableRawPointer, token: UInt64, run: @escaping RunForHost, retire: @escaping Retire) {
    self.init(code: nil, info: nil, destroy: nil)
    self.host = host
    self.token = token
    runForHost = run
    self.retire = retire
  }

  /// `thread`: its handle.
  package func run(_ thread: UInt) -> UnsafeMutableRawPointer? {
    if let code { return code(info) }
    runForHost?(host, token, thread)
    return nil
  }

  /// It has run, or never will.
  package func dispose() {
    retire?(host, token)
    ClientCall.giveBack(destroy, info)
  }
}
