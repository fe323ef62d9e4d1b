// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// One entry of a thread's stack of pools: a release that is put off, or the bottom of an open pool.
struct PoolEntry {
  typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// A plain release function; nil in entries of hosts, and in bottoms.
  private var code: UnsafeMutableRawPointer?
  /// What the function gets; or the host that gets an event; nil in bottoms.
  private var object: UnsafeMutableRawPointer?
  /// The host's token, or the pool's.
  let token: UInt64

  init(code: UnsafeMutableRawPointer, object: UnsafeMutableRawPointer?) {
    self.code = code
    self.object = object
    token = 0
  }

  init(host: Host, token: UInt64) {
    code = nil
    object = host.pointer
    self.token = token
  }

  /// The bottom of the pool with this token.
  init(bottom token: UInt64) {
    code = nil
    object = nil
    self.token = token
  }

  var isBottom: Bool { code == nil && object == nil }

  /// Calls the client. The entry is on no stack any more.
  func release() {
    if let code {
      unsafeBitCast(code, to: Release.self)(object)
    } else if let object {
      Host(object).release(token)
    }
  }
}
