// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// A message port or a Mach port. The item is one of Treadle's: a message port, or a port. Every reference to a local
/// message port or a Mach port is one to that item, which refers to this object by its context; so a loop that has the
/// item keeps both. A remote message port is in no loop of its client's: its references are counted here, and it has
/// one to its item.
struct PortBody {
  // First, as in all items.
  var base: ItemBase
  let isRemote: Bool
  var messageCallout: treadle_cf_message_fn?
  var machCallout: treadle_cf_mach_fn?
  /// A remote port whose item somebody has made who does not use these names.
  var isForeign = false

  // LOCK_PORTS.
  var invalidated: treadle_cf_invalidated_fn?
  /// The end is told, or is being told.
  var hasEnded = false
  /// The client's info is retained. Another thread may have found the port, and ended it, before: then the end is told
  /// from here.
  var hasBegun: Bool
  var endsAtOnce = false
  /// The source and the name, with a reference each; 0 for none.
  var source: UInt = 0
  var name: UInt = 0

  init(_ client: ClientContext, isRemote: Bool) {
    base = ItemBase(handle: nil, client: client)
    self.isRemote = isRemote
    hasBegun = isRemote
  }

  var handle: OpaquePointer? { base.handle }
  var item: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(base.handle) }

  /// The object is gone; of a local port, its item too.
  func free() {
    dropPortSource(source)
    if name != 0 { cfRelease(name) }
    guard isRemote, let item else { return }
    if !isForeign { _ = treadle_invalidate(item) }
    _ = treadle_release(item)
  }
}

/// Calls `work` with a living port's body.
func ports<Result>(
  _ port: UInt, _ kind: Kind, _ function: StaticString, _ fallback: Result, _ work: (Pointer<PortBody>) -> Result
) -> Result {
  guard let slot = Slot.hold(port, kind), let body = slot.pointer.pointee.body else {
    complain(function)
    return fallback
  }
  let result = work(body.assumingMemoryBound(to: PortBody.self))
  slot.drop()
  return result
}

/// Calls `work` under the lock of all ports. It calls no client.
@inline(__always)
func lockingPorts<Result>(_ work: () -> Result) -> Result {
  treadle_cf_lock(Int32(TREADLE_CF_LOCK_PORTS))
  let result = work()
  treadle_cf_unlock(Int32(TREADLE_CF_LOCK_PORTS))
  return result
}

/// Gives a port its item, if it has none yet; whether that is its item now. The handle is written once, under the lock,
/// and every thread that reads it has been here, or has got the port from one that has.
func bindItem(_ body: Pointer<PortBody>, _ handle: OpaquePointer?) -> Bool {
  lockingPorts {
    if body.pointee.handle == nil { body.pointee.base.handle = handle }
    return body.pointee.handle == handle
  }
}

// MARK: What the item calls

/// The item refers to the object as long as it lives. The client's info has an end of its own (`endPort`).
func retainPort(_ info: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  _ = Slot.hold(UInt(bitPattern: info))
  return info
}

func releasePort(_ info: UnsafeMutableRawPointer?) {
  guard let slot = Slot.hold(UInt(bitPattern: info)) else { return }
  if let body = slot.pointer.pointee.body { endPort(slot.reference, body.assumingMemoryBound(to: PortBody.self)) }
  slot.drop()
  slot.drop()
}

/// Calls a client with its info kept meanwhile; not once the info is released.
func callingPort(_ body: Pointer<PortBody>, _ call: (UInt) -> Void) {
  let (client, hasEnded) = lockingPorts { (body.pointee.base.client, body.pointee.hasEnded) }
  if hasEnded { return }
  let info = client.retain.map { $0(client.info) } ?? client.info
  call(info)
  client.release?(info)
}

// MARK: Its beginning and its end

/// A new port has its item: the client's info is retained from here on.
func beginPort(_ port: UInt, _ body: Pointer<PortBody>) {
  let client = lockingPorts { body.pointee.base.client }
  let info = client.retain.map { $0(client.info) } ?? client.info
  let hasEnded = lockingPorts {
    body.pointee.base.client.info = info
    body.pointee.hasBegun = true
    return body.pointee.endsAtOnce
  }
  if hasEnded { endPort(port, body) }
}

/// The port is invalid: its client is told, once, and its info released.
func endPort(_ port: UInt, _ body: Pointer<PortBody>) {
  let (isLate, client, invalidated) = lockingPorts {
    let (client, invalidated) = (body.pointee.base.client, body.pointee.invalidated)
    if !body.pointee.hasBegun { body.pointee.endsAtOnce = true }
    let isLate = body.pointee.hasEnded || !body.pointee.hasBegun
    if !isLate {
      body.pointee.hasEnded = true
      body.pointee.base.client.info = 0
    }
    return (isLate, client, invalidated)
  }
  if isLate { return }
  invalidated?(port, client.info)
  client.release?(client.info)
}

/// Invalidates a port for its client.
func invalidatePort(_ port: UInt, _ body: Pointer<PortBody>, _ function: StaticString) {
  check(treadle_invalidate(body.pointee.item), function)
  endPort(port, body)
}

/// Stores a port's context for a client.
func storePortContext(
  _ port: UInt, _ kind: Kind, _ context: UnsafeMutablePointer<treadle_cf_context>?, _ function: StaticString
) {
  ports(port, kind, function, ()) { body in
    guard let context else { return complain(function) }
    let (client, hasEnded) = lockingPorts { (body.pointee.base.client, body.pointee.hasEnded) }
    client.store(context, hasInfo: !hasEnded)
  }
}
