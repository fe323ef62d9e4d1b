// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

// The source of a port: a body of its own for the item of the port, whose references are the item's. The port keeps it,
// so that it is the same one as long as it is valid. It ends with the port, or before, by CFRunLoopSourceInvalidate:
// then the item leaves the loops that it has come into by this source.

/// The source of a port, which the caller owns; 0 for a port that is invalid.
func makePortSource(_ port: UInt, _ kind: Kind, _ order: Int, _ function: StaticString) -> UInt {
  ports(port, kind, function, 0) { body in
    guard !body.pointee.isRemote, treadle_is_valid(body.pointee.item) else {
      complain(function)
      return 0
    }
    var last: UInt = 0
    let source = lockingPorts {
      if let slot = validSource(body.pointee.source) { return slot.reference }
      last = body.pointee.source
      body.pointee.source = newPortSource(port, body, order)
      // The caller's reference, besides the port's.
      return Slot.hold(body.pointee.source) == nil ? 0 : body.pointee.source
    }
    dropPortSource(last)
    if source == 0 { return 0 }
    let status = treadle_retain(body.pointee.item)
    check(status, function)
    if status >= 0 { return source }
    Slot.hold(source).map { slot in
      slot.drop()
      slot.drop()
    }
    return 0
  }
}

/// A source that was not invalidated, with a reference to it.
private func validSource(_ source: UInt) -> Slot? {
  guard let slot = Slot.hold(source, .source) else { return nil }
  if let body = slot.pointer.pointee.body, !body.assumingMemoryBound(to: SourceBody.self).pointee.isOver { return slot }
  slot.drop()
  return nil
}

private func newPortSource(_ port: UInt, _ body: Pointer<PortBody>, _ order: Int) -> UInt {
  var client = ClientContext(nil)
  client.info = port
  return Slot.make(
    .source,
    allocate(
      SourceBody(
        base: ItemBase(handle: body.pointee.handle, client: client), variant: .ofPort, order: order, equal: nil,
        hash: nil)))
}

/// The port's own reference to a source.
func dropPortSource(_ source: UInt) {
  guard let slot = Slot.hold(source, .source) else { return }
  slot.drop()
  slot.drop()
}

/// A client has invalidated the source; the port goes on.
func endPortSource(_ body: Pointer<SourceBody>) {
  let loops = lockingPorts {
    body.pointee.isOver = true
    return body.pointee.loops.take()
  }
  loops.forEach { loop in
    if !isLivingLoop(loop) { return }
    forEachMode(handle(loop)) { mode in
      _ = treadle_loop_remove(handle(loop), UnsafeMutableRawPointer(body.pointee.handle), mode)
    }
  }
  loops.free()
}

// MARK: In loops

func addPortSource(_ source: UInt, _ loop: UInt, _ mode: UnsafePointer<CChar>, _ function: StaticString) {
  sources(source, function, ()) { body in
    // In one step with the look: the end of the source removes what is in the loops that it has noted.
    let status: Int32? = lockingPorts {
      if body.pointee.isOver { return nil }
      body.pointee.loops.note(loop)
      return treadle_loop_add(handle(loop), UnsafeMutableRawPointer(body.pointee.handle), mode)
    }
    guard let status else { return complain(function) }
    check(status, function)
  }
}

func removePortSource(_ source: UInt, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>, _ function: StaticString) {
  sources(source, function, ()) { body in
    if lockingPorts({ body.pointee.isOver }) { return }
    check(treadle_loop_remove(loop, UnsafeMutableRawPointer(body.pointee.handle), mode), function)
  }
}

func portSourceIsIn(_ source: UInt, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>) -> Bool {
  sources(source, "CFRunLoopContainsSource", false) { body in
    !lockingPorts { body.pointee.isOver }
      && treadle_loop_contains(loop, UnsafeMutableRawPointer(body.pointee.handle), mode)
  }
}
