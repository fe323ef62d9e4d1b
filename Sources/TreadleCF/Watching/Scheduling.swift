// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

// The modes that a socket's source is in: its kinds are enabled when it comes into the first one, and can be enabled
// and disabled while it is in one, as in CoreFoundation. A file descriptor's arming has nothing to do with them (FD-3).

/// Adds a source that may be a socket's or a descriptor's, by `add`, which returns Treadle's status.
func adding(_ source: UInt, _ loop: UInt, _ function: StaticString, _ add: () -> Int32) {
  guard let owner = Owner(source) else { return addingPort(source, function, add()) }
  let body = owner.body
  // It is armed before it is added: from then on it may be told by the loop's thread.
  var begins = false
  changing(body, function) {
    body.pointee.loops.note(loop)
    begins = body.pointee.isSocket && !(body.pointee.isScheduled && isInAnyMode(source, body))
    if begins { schedule(body) }
  }
  let status = add()
  if status != 0, begins { rest(source, body, function) }
  if status < 0 { tellOnce(status, body, function) }
  owner.drop()
}

/// A mode of a loop has come to the common ones, and brought the loop's sources of those in: the sockets' that were in
/// no mode until then are enabled.
func becameCommon(_ loop: UInt) {
  SocketTable.forEach { socket in
    guard let slot = Slot.hold(socket, .socket) else { return }
    if let body = slot.pointer.pointee.body?.assumingMemoryBound(to: WatchBody.self) {
      let mayBegin = lockingSockets {
        !body.pointee.isScheduled && body.pointee.loops.contains(loop) && isInAnyMode(body.pointee.source, body)
      }
      if mayBegin { changing(body, "CFRunLoopAddCommonMode") { schedule(body) } }
    }
    slot.drop()
  }
}

/// A socket came into its first mode: every kind waits. Under the lock.
private func schedule(_ body: Pointer<WatchBody>) {
  body.pointee.isScheduled = true
  body.pointee.disabled = 0
  body.pointee.arm(body.pointee.kinds)
}

/// Removes one likewise.
func removing(_ source: UInt, _ function: StaticString, _ remove: () -> Int32) {
  let status = remove()
  check(status, function)
  guard status == 0, let owner = Owner(source) else { return }
  if owner.body.pointee.isSocket { rest(source, owner.body, function) }
  owner.drop()
}

/// A socket that is in no mode any more waits for nothing.
private func rest(_ source: UInt, _ body: Pointer<WatchBody>, _ function: StaticString) {
  changing(body, function) {
    if isInAnyMode(source, body) { return }
    body.pointee.isScheduled = false
    body.pointee.armed = 0
  }
}

/// A version 1 source was added: whatever Treadle refuses is said once for a source.
private func addingPort(_ source: UInt, _ function: StaticString, _ status: Int32) {
  if status >= 0 { return }
  access(source, function, ()) { (body: Pointer<SourceBody>) in
    if body.pointee.isRefusalTold { return }
    body.pointee.isRefusalTold = true
    var fd: Int32 = -1
    _ = treadle_descriptor_get_fd(body.pointee.handle, &fd)
    tellRefusal(fd, status, function)
  }
}

/// The socket or descriptor of a source, with a reference held; nil for other sources.
private struct Owner {
  let body: Pointer<WatchBody>
  private let slot: Slot

  init?(_ source: UInt) {
    let info = access(source, "CFRunLoopAddSource", UInt(0)) { (body: Pointer<SourceBody>) in
      body.pointee.variant == .owned ? body.pointee.client.info : 0
    }
    guard let slot = Slot.hold(info) else { return nil }
    guard let memory = slot.pointer.pointee.body else {
      slot.drop()
      return nil
    }
    self.slot = slot
    body = memory.assumingMemoryBound(to: WatchBody.self)
  }

  func drop() { slot.drop() }
}

/// Whether a source is in a mode of one of the loops that it was added to; under the lock.
private func isInAnyMode(_ source: UInt, _ body: Pointer<WatchBody>) -> Bool {
  guard let slot = Slot.hold(source, .source) else { return false }
  defer { slot.drop() }
  guard let item = Item(slot) else { return false }
  var isIn = false
  body.pointee.loops.forEach { loop in
    forEachMode(handle(loop)) { mode in
      if !isIn { isIn = treadle_loop_contains_descriptor(handle(loop), item.handle, mode) }
    }
  }
  return isIn
}

/// Whether a descriptor source is in the mode that the calling thread's loop runs in.
func isInRunningMode(_ descriptor: OpaquePointer?) -> Bool {
  let loop = treadle_loop_current()
  var name = ByteBuffer()
  name.append { treadle_loop_get_current_mode(loop, $0, $1, $2) }
  defer { name.free() }
  guard let bytes = name.bytes else { return false }
  return treadle_loop_contains_descriptor(loop, descriptor, UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))
}
