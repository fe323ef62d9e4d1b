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
  /// The kinds that a socket has, and those of them that are enabled.
  var kinds: UInt = 0
  var enabled: UInt = 0
  var flags: UInt = 0
  /// A stream socket of ours that is neither bound nor connected: the kernel calls it hung up.
  var isFresh = false
  var isConnecting = false
  /// Why a connection in the background failed before it began; 0 otherwise.
  var connectError: Int32 = 0
  /// The non-blocking mode is set for a connection only.
  var restoresBlocking = false
  /// The source, without a reference: it keeps this object, not the reverse.
  var source: UInt = 0
  /// Whether it was said already that Treadle would not watch the descriptor.
  var isRefusalTold = false
  /// This object.
  var reference: UInt = 0
  /// The loops that the source was added to, to be woken in the end.
  var loops: UnsafeMutablePointer<UInt>?
  var loopCount = 0

  static var closeOnInvalidate: UInt { 128 }

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

  /// The kinds that become ready when the descriptor can be written.
  var writeKinds: UInt { isSocket ? Kinds.write : Kinds.writeOfDescriptor }
  var readKinds: UInt { isSocket ? 3 : Kinds.read }

  /// What the kernel has to watch for now.
  var events: UInt32 {
    if !isValid { return 0 }
    if isConnecting { return UInt32(TREADLE_WRITABLE) }
    if isFresh { return 0 }
    return (enabled & readKinds != 0 ? UInt32(TREADLE_READABLE) : 0)
      | (enabled & writeKinds != 0 ? UInt32(TREADLE_WRITABLE) : 0)
  }

  func free() { treadle_cf_free(loops) }
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
