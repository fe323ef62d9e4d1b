// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

// How the sources of sockets and file descriptors, and those of version 1, come into modes, or are refused.

/// Adds a source that may be a socket's or a descriptor's, by `add`, which returns Treadle's status.
func adding(_ source: UInt, _ loop: UInt, _ function: StaticString, _ add: () -> Int32) {
  guard let owner = Owner(source) else { return addingPort(source, function, add()) }
  let body = owner.body
  changing(body, function) { noteLoop(loop, body) }
  let status = add()
  if status < 0 { tellOnce(status, body, function) }
  owner.drop()
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

/// Remembers a loop, to be woken in the end; under the lock.
private func noteLoop(_ loop: UInt, _ body: Pointer<WatchBody>) {
  var index = 0
  while index < body.pointee.loopCount {
    if body.pointee.loops?[index] == loop { return }
    index &+= 1
  }
  guard let grown = treadle_cf_reallocate(body.pointee.loops, (index &+ 1) &* 8) else { return }
  body.pointee.loops = grown.assumingMemoryBound(to: UInt.self)
  body.pointee.loops?[index] = loop
  body.pointee.loopCount = index &+ 1
}
