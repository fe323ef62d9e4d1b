// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// What a host registers that is no item of a loop: its token is retired as that of every registration.
extension Host {
  /// Has the host get an event when the calling thread's innermost pool is closed.
  @_optimize(size)
  package func addToPool(_ token: UInt64) throws(Failure) {
    try registering { () throws(Failure) in try Pool.add(PoolEntry(host: self, token: token)) }
  }

  /// The event of `addToPool`.
  func release(_ token: UInt64) {
    var event = Event(Event.Kind.release, token: token, loop: nil, subject: 0, mode: nil)
    notify(&event)
    Host.retireToken(pointer, token)
  }

  /// Has the host get an event for each notification of this name. `store` gets what ends it.
  @_optimize(size)
  package func addNotification(
    _ token: UInt64, _ name: UInt32, object: UInt, store: (UInt64) -> Void
  ) throws(Failure) {
    try registering { () throws(Failure) in
      try Notifications.add(name, object: object, Handler(host: self, token: token), store: store)
    }
  }

  /// The event of `addNotification`.
  func notify(_ name: UInt32, object: UInt, _ token: UInt64) {
    var event = Event(Event.Kind.notification, value: name, token: token, loop: nil, subject: object, mode: nil)
    notify(&event)
  }

  /// Tells the host of something that happens outside of any run's callouts. If it does not complete, the innermost
  /// run of this thread ends.
  private func notify(_ event: inout Event) {
    if callback.invoke?(callback.object, &event) == false { Loop.existing?.failRun() }
  }
}
