// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// A socket or a file descriptor: what a source of theirs watches a descriptor for. Everything that changes is
/// guarded by LOCK_SOCKETS; no client code runs under it.
struct WatchBody {
  /// The kinds of callbacks; of the first three, which share two bits, a socket has one.
  enum Kinds {
    static var read: UInt { 1 }
    static var accept: UInt { 2 }
    static var data: UInt { 3 }
    static var connect: UInt { 4 }
    static var write: UInt { 8 }
    /// A file descriptor's.
    static var writeOfDescriptor: UInt { 2 }
  }

  let isSocket: Bool
  var fd: Int32
  var isValid = true
  var client: ClientContext
  var socketCallout: treadle_cf_socket_fn?
  var descriptorCallout: treadle_cf_descriptor_fn?
  /// The kinds that it has, for ever.
  var kinds: UInt = 0
  /// The kinds that wait to be told: a kind that was told waits again once it is enabled, by the client or by its flag.
  var armed: UInt = 0
  /// A socket's kinds that the client has disabled: no flag enables them.
  var disabled: UInt = 0
  var flags: UInt = 0
  /// A stream socket made here that is neither bound nor connected: the kernel calls it hung up.
  var isFresh = false
  /// Made by CFSocketCreate, not for the client's descriptor.
  var isOurs = false
  /// A stream socket whose Connect was not told yet, nor overtaken by Write (SOCK-12).
  var owesConnect = false
  /// Hung up, with nothing to tell: the kernel would report it again and again.
  var isHungUp = false
  /// Whether a socket's source was in a mode of a loop when it was last added or removed.
  var isScheduled = false
  /// The source, without a reference: it keeps this object, not the reverse.
  var source: UInt = 0
  /// What the source watches for.
  var watched: UInt32 = 0
  /// Whether it was said already that Treadle would not watch the descriptor.
  var isRefusalTold = false
  /// This object.
  var reference: UInt = 0
  /// The loops that the source was added to, to be woken in the end.
  var loops = LoopList()

  static var closeOnInvalidate: UInt { 128 }
  static var leaveErrors: UInt { 64 }

  init(socket: Int32, client: ClientContext) {
    isSocket = true
    fd = socket
    self.client = client
  }

  init(descriptor: Int32, client: ClientContext) {
    isSocket = false
    fd = descriptor
    self.client = client
  }

  var writeKinds: UInt { isSocket ? Kinds.write : Kinds.writeOfDescriptor }
  var readKinds: UInt { isSocket ? 3 : Kinds.read }
  var waitsForConnect: Bool { owesConnect && armed & Kinds.connect != 0 }

  /// What the kernel has to watch for now.
  var events: UInt32 {
    if !isValid || isFresh { return 0 }
    let reads = armed & readKinds != 0
    let writes = armed & writeKinds != 0 || waitsForConnect
    if isHungUp && !reads { return 0 }
    return (reads ? UInt32(TREADLE_READABLE) : 0) | (writes ? UInt32(TREADLE_WRITABLE) : 0)
  }

  /// A socket's kinds that a client means, of which one bit of Read, Accept and Data is enough.
  func meant(_ kinds: UInt) -> UInt {
    let own = kinds & self.kinds
    return own & 3 != 0 ? own | self.kinds & 3 : own
  }

  mutating func arm(_ kinds: UInt) {
    armed |= kinds
    isHungUp = false
  }

  func free() { loops.free() }
}

/// Calls `work` with a living socket's or descriptor's body.
func watches<Result>(
  _ watch: UInt, _ kind: Kind, _ function: StaticString, _ fallback: Result, _ work: (Pointer<WatchBody>) -> Result
) -> Result {
  guard let slot = Slot.hold(watch, kind), let body = slot.pointer.pointee.body else {
    complain(function)
    return fallback
  }
  let result = work(body.assumingMemoryBound(to: WatchBody.self))
  slot.drop()
  return result
}

/// Calls `work` under the lock of all sockets.
@inline(__always)
func lockingSockets<Result>(_ work: () -> Result) -> Result {
  treadle_cf_lock(Int32(TREADLE_CF_LOCK_SOCKETS))
  let result = work()
  treadle_cf_unlock(Int32(TREADLE_CF_LOCK_SOCKETS))
  return result
}
