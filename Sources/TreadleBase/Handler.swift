// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A function that somebody registered for the whole process, and what goes back at its end. On the heap,
/// and counted, under the lock of the list that it is in: one for the list, one for each call in progress.
package struct Handler {
  package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void
  /// A host, the notification's name, its object, and the host's token.
  package typealias TellHost = @convention(c) (UnsafeMutableRawPointer?, UInt32, UInt, UInt64) -> Void
  package typealias Retire = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void

  /// The plain function; nil for hosts.
  package let code: UnsafeMutableRawPointer?
  package let info: UnsafeMutableRawPointer?
  private let destroy: Destroy?
  /// The host that is told instead, by what, and how its token is retired at the end.
  package let host: UnsafeMutableRawPointer?
  package let token: UInt64
  package let tellHost: TellHost?
  private let retire: Retire?
  private var uses = 1

  package init(code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, destroy: Destroy?) {
    self.code = code
    self.info = info
    self.destroy = destroy
    host = nil
    token = 0
    tellHost = nil
    retire = nil
  }

  package init(host: UnsafeMutableRawPointer, token: UInt64, tell: @escaping TellHost, retire: @escaping Retire) {
    code = nil
    info = nil
    destroy = nil
    self.host = host
    self.token = token
    tellHost = tell
    self.retire = retire
  }

  /// The carrier of another one, which belongs to a scope: `end` is called in place of `retire`.
  package init(carrying work: ScopeWork.Pointer, tell: @escaping TellHost, end: @escaping Destroy) {
    code = nil
    info = UnsafeMutableRawPointer(work)
    destroy = end
    host = UnsafeMutableRawPointer(work)
    token = 0
    tellHost = tell
    retire = nil
  }

  /// A copy on the heap; nil without memory.
  package func allocated() -> UnsafeMutablePointer<Handler>? {
    guard let memory = treadle_system_allocate(MemoryLayout<Handler>.size) else { return nil }
    let handler = memory.bindMemory(to: Handler.self, capacity: 1)
    handler.initialize(to: self)
    return handler
  }

  /// Keeps it while it is called. The list's lock is held.
  package mutating func use() { uses &+= 1 }

  /// The end of a call, or of its place in the list. True for the last: `free` follows, without the lock.
  package mutating func endUse() -> Bool {
    uses &-= 1
    return uses == 0
  }

  /// The end of a call, which takes the list's lock for that.
  package static func endUse(_ handler: UnsafeMutablePointer<Handler>, under lock: UnsafeMutablePointer<Mutex>) {
    lock.pointee.lock(.process)
    let isLast = handler.pointee.endUse()
    lock.pointee.unlock(.process)
    if isLast { free(handler) }
  }

  /// Gives back, once, what came with it.
  package static func free(_ handler: UnsafeMutablePointer<Handler>) {
    let last = handler.pointee
    treadle_system_free(handler)
    last.dispose()
  }

  /// The one end of what came with it.
  package func dispose() {
    retire?(host, token)
    ClientCall.giveBack(destroy, info)
  }
}
