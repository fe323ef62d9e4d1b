// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// What a host registers that is no item of a loop: its token is retired as that of every registration.
extension Host {
  /// Has the host get an event when the calling thread's innermost pool is closed.
  package func addToPool(_ token: UInt64) throws(Failure) {
    try demandDispatch()
    try registering { () throws(Failure) in try Pool.add(PoolEntry(host: pointer, token: token, Host.releaseToken)) }
  }

  /// The event of `addToPool`.
  private static let releaseToken: PoolEntry.ReleaseToken = { memory, token in
    guard let memory else { return }
    var event = Event(Event.Kind.release, token: token, loop: nil, subject: 0, mode: nil)
    Host(memory).notify(&event)
    Host.retireToken(memory, token)
  }

  /// Has the host get an event for each notification of this name. `store` gets what ends it.
  package func addNotification(
    _ token: UInt64, _ name: UInt32, object: UInt, store: (UInt64) -> Void
  ) throws(Failure) {
    try demandDispatch()
    try registering { () throws(Failure) in
      let handler = Handler(host: pointer, token: token, tell: Host.tellNotification, retire: Host.retireToken)
      try Notifications.add(name, object: object, handler, store: store)
    }
  }

  /// The event of `addNotification`.
  private static let tellNotification: Handler.TellHost = { memory, name, object, token in
    guard let memory else { return }
    var event = Event(Event.Kind.notification, value: name, token: token, loop: nil, subject: object, mode: nil)
    Host(memory).notify(&event)
  }

  /// Tells the host of something that happens outside of any run's callouts. If it does not complete, the innermost
  /// run of this thread ends.
  private func notify(_ event: inout Event) {
    if callback.invoke?(callback.object, &event) == false { Loop.existing?.failRun() }
  }
}

/// Closures whose calls are events of a host.
extension Host {
  /// Makes a closure for a host, with room for its token.
  package func registeringCall(_ body: () throws(Failure) -> Handle) throws(Failure) -> Handle {
    try demandDispatch()
    return try registering(body)
  }

  /// Has the host handle a call; false if it does not complete it, or takes no events any more.
  package func handleCall(
    _ token: UInt64, _ call: UnsafeMutableRawPointer, closure: OpaquePointer?, loop: OpaquePointer?
  ) -> Bool {
    var event = Event(Event.Kind.call, token: token, loop: nil, subject: UInt(bitPattern: closure), mode: nil)
    event.loop = loop
    event.argument = call
    return dispatch(&event, whenClosed: false)
  }

  /// No call will come any more.
  package func retireCallToken(_ token: UInt64) { Host.retireToken(pointer, token) }
}

/// Message ports whose messages are events of a host.
extension Host {
  /// Tells the host of a message, or with nil of the port's end; false if it does not complete that. A host that takes
  /// no events any more gets none.
  package func handleMessage(_ token: UInt64, _ message: UnsafeMutableRawPointer?, port: UInt) -> Bool {
    var event = Event(Event.Kind.messagePort, token: token, loop: nil, subject: port, mode: nil)
    event.argument = message
    return dispatch(&event, whenClosed: true)
  }
}

/// Many small events of a host: quickly queued, and handed out at one call.
extension Host {
  /// Queues a block for the common modes and wakes the loop, as `Loop.post` does. Its token is retired only
  /// if it never runs, or the host does not complete it.
  package func post(_ token: UInt64, on handle: UInt) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in try Loop.post(handle, item(token)) }
  }

  /// Queues a block for some modes. The caller holds the loop.
  package func post(
    _ token: UInt64, on handle: UInt, modes: ModeNames, wakes: Bool, label: UnsafePointer<CChar>?
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in try Loop.post(handle, item(token, label), modes: modes, wakes: wakes) }
  }

  /// A post that is an event of the host, which uses the token up.
  private func item(_ token: UInt64, _ label: UnsafePointer<CChar>? = nil) -> WorkItem {
    own(WorkItem(post: nil, nil, label: label), token, retire: Host.retireToken)
  }

  /// An item as an event of the host. retire: what becomes of its token if the host does not complete it.
  func own(_ item: WorkItem, _ token: UInt64, retire: @escaping WorkItem.Retire) -> WorkItem {
    var item = item
    item.indirect = callback
    item.token = token
    item.host = pointer
    item.retire = retire
    item.retireUsed = Host.useToken
    return item
  }
}
