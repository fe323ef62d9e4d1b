// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// What Treadle tells the whole process (NOTE-1).
package enum Notifications {
  package typealias Plain = @convention(c) (UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void

  package static let willBecomeMultiThreaded: UInt32 = 1
  package static let threadWillExit: UInt32 = 2
  package static let portDidBecomeInvalid: UInt32 = 3

  /// Registers a handler, for one object or with 0 for all. `store` gets the token that ends it, before anybody
  /// is told of anything. Takes the handler over on success only.
  package static func add(
    _ name: UInt32, object: UInt, _ handler: Handler, store: (UInt64) -> Void
  ) throws(Failure) {
    try Runtime.start()
    if name < willBecomeMultiThreaded || name > portDidBecomeInvalid {
      throw Failure(Status.argument, "name", "is not that of a notification")
    }
    let work = try ScopeWork.make(ScopeWork.Sort.notification, handler, isQueued: false) {
      $0.assumingMemoryBound(to: Handler.self).pointee.dispose()
    }
    let carrier = work.map { Handler(carrying: $0, tell: callContent, end: ScopeWork.endCarrier) } ?? handler
    guard let handler = carrier.allocated() else {
      if let work, !ScopeWork.takeBack(work) { return }
      throw Failure.noMemory("notification")
    }
    // Whoever knows the token may end it at once.
    if let work { ScopeWork.retain(work) }
    defer { if let work { ScopeWork.release(work) } }
    // Before the registration is in the list, so that whoever can know of it looks.
    treadle_system_set_notified()
    let lock = NotificationList.lock
    lock.pointee.lock(.process)
    let token = NotificationList.shared.pointee.append(name, object, handler)
    if let token { store(token) }
    lock.pointee.unlock(.process)
    if let token {
      // A scope that was closed meanwhile has not found the token.
      if let work, ScopeWork.register(work, token) {
        ScopeWork.retain(work)
        ScopeWork.releasing(work) { try? remove(token) }
      }
      return
    }
    treadle_system_free(handler)
    if let work, !ScopeWork.takeBack(work) { return }
    throw Failure.noMemory("notification")
  }

  private static let callContent: Handler.TellHost = { memory, name, object, _ in
    guard let work = memory?.assumingMemoryBound(to: ScopeWork.self) else { return }
    ScopeWork.during(work) { callClient(ScopeWork.content(work, as: Handler.self), name, object) }
  }

  /// Ends a registration. Its handler goes when no call of it runs.
  package static func remove(_ token: UInt64) throws(Failure) {
    try Runtime.start()
    let lock = NotificationList.lock
    lock.pointee.lock(.process)
    let handler = NotificationList.shared.pointee.remove(token)
    let isLast = handler?.pointee.endUse() ?? false
    lock.pointee.unlock(.process)
    guard let handler else { throw Failure(Status.notFound, "token", "is not that of a registration") }
    if isLast { Handler.free(handler) }
  }

  /// Calls those that are registered for this, one after the other in the order of registration, here and now.
  /// Those that are added meanwhile are not called; those that are removed meanwhile neither.
  package static func post(_ name: UInt32, object: UInt) {
    // Every thread posts at its end: without a registration ever, none takes the lock that they all share.
    if !treadle_system_is_notified() { return }
    let lock = NotificationList.lock
    let list = NotificationList.shared
    let tag = treadle_system_tag()
    if tag == 0 { return }
    lock.pointee.lock(.process)
    let newest = list.pointee.latest
    var told: UInt64 = 0
    while let entry = list.pointee.next(after: told, upTo: newest, name, object), let handler = entry.handler {
      told = entry.token
      handler.pointee.use()
      lock.pointee.unlock(.process)
      ObjectCall.recorded(0, UnsafeMutableRawPointer(handler), endUse) { call(handler, name, object) }
      // It may have forked: in the child, the list and the lock are not what they were.
      if treadle_system_tag() != tag { return }
      lock.pointee.lock(.process)
      if handler.pointee.endUse() {
        lock.pointee.unlock(.process)
        Handler.free(handler)
        if treadle_system_tag() != tag { return }
        lock.pointee.lock(.process)
      }
    }
    lock.pointee.unlock(.process)
  }

  /// The thread ends inside of a call.
  private static let endUse: ObjectCall.Abandon = { memory in
    Handler.endUse(memory.assumingMemoryBound(to: Handler.self), under: NotificationList.lock)
  }

  /// Inside of a call that is counted and guarded already.
  private static func callClient(_ handler: UnsafeMutablePointer<Handler>, _ name: UInt32, _ object: UInt) {
    if let code = handler.pointee.code {
      unsafeBitCast(code, to: Plain.self)(name, UnsafeMutableRawPointer(bitPattern: object), handler.pointee.info)
    } else {
      handler.pointee.tellHost?(handler.pointee.host, name, object, handler.pointee.token)
    }
  }

  private static func call(_ handler: UnsafeMutablePointer<Handler>, _ name: UInt32, _ object: UInt) {
    let (name, object) = (UnsafeRawPointer(bitPattern: UInt(name)), UnsafeRawPointer(bitPattern: object))
    if let code = handler.pointee.code {
      Scope.aside { _ = ClientCall.during(code, name, object, handler.pointee.info) }
    } else if let tellHost = handler.pointee.tellHost {
      let token = UnsafeRawPointer(bitPattern: UInt(handler.pointee.token))
      Scope.aside { _ = ClientCall.during(tellHost, handler.pointee.host, name, object, token) }
    }
  }
}
