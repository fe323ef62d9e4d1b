// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A function that somebody registered for the whole process, and what goes back at its end. On the heap,
/// and counted, under the lock of the list that it is in: one for the list, one for each call in progress.
package struct Handler {
  package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// The plain function; nil for hosts.
  let code: UnsafeMutableRawPointer?
  let info: UnsafeMutableRawPointer?
  private let destroy: Destroy?
  /// The host that gets an event instead, and the token that the event carries.
  let host: UnsafeMutableRawPointer?
  let token: UInt64
  private var uses = 1

  package init(code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, destroy: Destroy?) {
    self.code = code
    self.info = info
    self.destroy = destroy
    host = nil
    token = 0
  }

  init(host: Host, token: UInt64) {
    code = nil
    info = nil
    destroy = nil
    self.host = host.pointer
    self.token = token
  }

  /// A copy on the heap; nil without memory.
  func allocated() -> UnsafeMutablePointer<Handler>? {
    guard let memory = treadle_system_allocate(MemoryLayout<Handler>.size) else { return nil }
    let handler = memory.bindMemory(to: Handler.self, capacity: 1)
    handler.initialize(to: self)
    return handler
  }

  /// Keeps it while it is called. The list's lock is held.
  mutating func use() { uses &+= 1 }

  /// The end of a call, or of its place in the list. True for the last: `free` follows, without the lock.
  mutating func endUse() -> Bool {
    uses &-= 1
    return uses == 0
  }

  /// Gives back, once, what came with it.
  static func free(_ handler: UnsafeMutablePointer<Handler>) {
    let last = handler.pointee
    treadle_system_free(handler)
    if last.host != nil { Host.retireToken(last.host, last.token) }
    last.destroy?(last.info)
  }
}
