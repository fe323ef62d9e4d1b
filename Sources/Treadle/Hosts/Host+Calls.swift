// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// Closures whose calls are events of a host.
extension Host {
  /// Makes a closure for a host, with room for its token.
  package func registeringCall(_ body: () throws(Failure) -> Handle) throws(Failure) -> Handle {
    try registering(body)
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
