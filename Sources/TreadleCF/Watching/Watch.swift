// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

// What sockets and file descriptors have in common: their source, its events, their end.

/// The source of an object, which the caller owns: always the same while it is valid.
func makeWatchSource(_ watch: UInt, _ kind: Kind, _ order: Int, _ function: StaticString) -> UInt {
  watches(watch, kind, function, 0) { body in
    let known = lockingSockets { body.pointee.isValid ? body.pointee.source : UInt.max }
    if known == UInt.max {
      complain(function)
      return 0
    }
    if let slot = Slot.hold(known, .source) {
      let isValid = cfRunLoopSourceIsValid(known) != 0
      if isValid { _ = cfRetain(known) }
      slot.drop()
      if isValid { return known }
    }
    return newSource(watch, body, order)
  }
}

private func newSource(_ watch: UInt, _ body: Pointer<WatchBody>, _ order: Int) -> UInt {
  var client = ClientContext(nil)
  client.info = watch
  let source = Slot.make(
    .source,
    allocate(
      SourceBody(
        base: ItemBase(client: client.keeping()), variant: .owned, order: order, equal: nil, hash: nil)))
  if source == 0 { return 0 }
  var context = descriptorContext(source)
  context.fd = body.pointee.fd
  context.events = UInt32(TREADLE_READABLE)
  if body.pointee.isSocket { context.ready = readySocket } else { context.ready = readyDescriptor }
  let made = finish(source) { treadle_descriptor_create(&context, &$0) }
  if made == 0 { return 0 }
  lockingSockets {
    body.pointee.source = made
    update(body)
  }
  return made
}

extension ClientContext {
  /// The info is one of our objects.
  func keeping() -> ClientContext {
    var context = treadle_cf_context()
    context.info = info
    context.retain = { cfRetain($0) }
    context.release = { cfRelease($0) }
    return withUnsafePointer(to: context) { ClientContext($0) }
  }
}

/// Tells the kernel what to watch for; under the lock.
func update(_ body: Pointer<WatchBody>) {
  if body.pointee.isFresh, treadle_cf_is_in_use(body.pointee.fd) != 0 { body.pointee.isFresh = false }
  guard let slot = Slot.hold(body.pointee.source, .source) else { return }
  if let item = Item(slot) { _ = treadle_descriptor_set_events(item.handle, body.pointee.events) }
  slot.drop()
}

/// Remembers a loop that a source was added to; called for sources of sockets and descriptors.
func noteLoop(_ source: UInt, _ loop: UInt) {
  sources(source, "CFRunLoopAddSource", ()) { source in
    guard source.pointee.variant == .owned, let slot = Slot.hold(source.pointee.client.info),
      let memory = slot.pointer.pointee.body
    else { return }
    let body = memory.assumingMemoryBound(to: WatchBody.self)
    lockingSockets {
      update(body)
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
    slot.drop()
  }
}

/// Ends an object: its source, its context, its place among the sockets, and its descriptor if that was asked for.
func invalidate(_ body: Pointer<WatchBody>) {
  let wasValid = lockingSockets {
    let wasValid = body.pointee.isValid
    body.pointee.isValid = false
    if wasValid, body.pointee.isSocket { SocketTable.forget(body.pointee.fd, body.pointee.reference) }
    return wasValid
  }
  if !wasValid { return }
  if let slot = Slot.hold(body.pointee.source, .source) {
    cfRunLoopSourceInvalidate(body.pointee.source)
    slot.drop()
  }
  var index = 0
  while index < body.pointee.loopCount {
    if let loop = body.pointee.loops?[index] { _ = treadle_loop_wake(handle(loop)) }
    index &+= 1
  }
  body.pointee.client.release?(body.pointee.client.info)
  if body.pointee.flags & WatchBody.closeOnInvalidate != 0 { _ = treadle_cf_close(body.pointee.fd) }
}

/// Starts a new object: keeps the client's info.
func begin(_ kind: Kind, _ body: WatchBody) -> UInt {
  var body = body
  body.client.info = body.client.retain.map { $0(body.client.info) } ?? body.client.info
  let watch = Slot.make(kind, allocate(body))
  if watch == 0 {
    body.client.release?(body.client.info)
    return 0
  }
  watches(watch, kind, "CFSocketCreate", ()) { $0.pointee.reference = watch }
  return watch
}

/// Calls a client with its info kept meanwhile.
func callingOut(_ body: Pointer<WatchBody>, _ call: (UInt) -> Void) {
  let client = body.pointee.client
  let info = client.retain.map { $0(client.info) } ?? client.info
  call(info)
  client.release?(info)
}
