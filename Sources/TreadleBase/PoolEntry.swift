// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// One entry of a thread's stack of pools: a release that is put off, or the bottom of an open pool.
package struct PoolEntry: BitwiseCopyable {
  package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void

  package typealias ReleaseToken = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void

  /// A plain release function; nil in entries of hosts, and in bottoms.
  private var code: Release?
  /// A host's; nil elsewhere.
  private var codeOfHost: ReleaseToken?
  /// What the function gets.
  private var object: UnsafeMutableRawPointer?
  /// What a host's function gets besides; or the pool's token.
  package let token: UInt64

  package init(code: @escaping Release, object: UnsafeMutableRawPointer?) {
    self.code = code
    self.object = object
    token = 0
  }

  package init(host: UnsafeMutableRawPointer, token: UInt64, _ code: @escaping ReleaseToken) {
    codeOfHost = code
    object = host
    self.token = token
  }

  /// The bottom of the pool with this token.
  package init(bottom token: UInt64) {
    self.token = token
  }

  package var isBottom: Bool { code == nil && codeOfHost == nil }

  /// Calls the client. The entry is on no stack any more.
  package func release() {
    ClientCall.giveBack(code, object)
    codeOfHost?(object, token)
  }
}
