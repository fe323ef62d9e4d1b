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
      let retained = isValid ? cfRetain(known) : 0
      slot.drop()
      if isValid { return retained }
    }
    return newSource(watch, body, order, function)
  }
}

private func newSource(_ watch: UInt, _ body: Pointer<WatchBody>, _ order: Int, _ function: StaticString) -> UInt {
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
  var status: Int32 = 0
  let made = finish(source) {
    status = treadle_descriptor_create(&context, &$0)
    return status
  }
  if made == 0 {
    tellRefusal(body.pointee.fd, status, function)
    return 0
  }
  changing(body, function) {
    body.pointee.source = made
    body.pointee.watched = UInt32(TREADLE_READABLE)
    body.pointee.isScheduled = false
    if body.pointee.isSocket { body.pointee.armed = 0 }
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

/// Changes an object for a client under the lock, then has Treadle watch for what is waited for now. Returns Treadle's
/// status; a refusal, which few functions here can return, is told, too, once for an object.
@discardableResult
func changing(_ body: Pointer<WatchBody>, _ function: StaticString, _ work: () -> Void) -> Int32 {
  let status = lockingSockets {
    work()
    return update(body, isForced: true)
  }
  if status < 0 { tellOnce(status, body, function) }
  return status
}

/// As `changing`, for what a dispatch has changed: Treadle is asked only for something else than it has.
func adjusting(_ body: Pointer<WatchBody>, _ function: StaticString, _ work: () -> Void) {
  let status = lockingSockets {
    work()
    return update(body, isForced: false)
  }
  if status < 0 { tellOnce(status, body, function) }
}

/// Tells Treadle what to watch for; its status. Under the lock.
private func update(_ body: Pointer<WatchBody>, isForced: Bool) -> Int32 {
  if body.pointee.isFresh, treadle_cf_is_in_use(body.pointee.fd) != 0 { body.pointee.isFresh = false }
  let events = body.pointee.events
  guard isForced || events != body.pointee.watched, let slot = Slot.hold(body.pointee.source, .source) else { return 0 }
  var status: Int32 = 0
  if let item = Item(slot) {
    status = treadle_descriptor_set_events(item.handle, events)
    if status >= 0 { body.pointee.watched = events }
    // An invalid source is no refusal: the client has invalidated it, and the object's next source gets the events.
    if status == TREADLE_E_STATE { status = 0 }
  }
  slot.drop()
  return status
}

/// Says once for an object that its descriptor is not watched as it should be.
@inline(never)
func tellOnce(_ status: Int32, _ body: Pointer<WatchBody>, _ function: StaticString) {
  let wasTold = lockingSockets {
    let wasTold = body.pointee.isRefusalTold
    body.pointee.isRefusalTold = true
    return wasTold
  }
  if !wasTold { tellRefusal(body.pointee.fd, status, function) }
}

/// Ends an object: its source, its place among the sockets, its descriptor if that was asked for, its context.
func invalidate(_ body: Pointer<WatchBody>, _ function: StaticString) {
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
  if body.pointee.flags & WatchBody.closeOnInvalidate != 0 { _ = treadle_cf_close(body.pointee.fd) }
  body.pointee.loops.forEach { loop in
    // One whose thread is gone, and which nobody keeps, needs no waking.
    if isLivingLoop(loop) { check(treadle_loop_wake(handle(loop)), function) }
  }
  body.pointee.client.release?(body.pointee.client.info)
}

/// Starts a new object: keeps the client's info.
func begin(_ kind: Kind, _ body: WatchBody, _ function: StaticString) -> UInt {
  var body = body
  body.client.info = body.client.retain.map { $0(body.client.info) } ?? body.client.info
  let watch = Slot.make(kind, allocate(body))
  if watch == 0 {
    body.client.release?(body.client.info)
    return 0
  }
  watches(watch, kind, function, ()) { $0.pointee.reference = watch }
  return watch
}

/// Calls a client with its info kept meanwhile.
func callingOut(_ body: Pointer<WatchBody>, _ call: (UInt) -> Void) {
  let client = body.pointee.client
  let info = client.retain.map { $0(client.info) } ?? client.info
  call(info)
  client.release?(info)
}
