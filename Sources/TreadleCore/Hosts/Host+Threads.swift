// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Threads and requests whose functions are events of a host.
extension Host {
  private static let runThread: ThreadEntry.RunForHost = { memory, token, thread in
    guard let memory else { return }
    var event = Event(Event.Kind.thread, token: token, loop: nil, subject: thread, mode: nil)
    Host(memory).runEntry(&event)
  }

  package func makeThread(_ token: UInt64, isDetached: Bool) throws(Failure) -> Thread {
    try demandDispatch()
    let entry = ThreadEntry(host: pointer, token: token, run: Host.runThread, retire: Host.retireToken)
    return try registering { () throws(Failure) in try Thread.create(entry, isDetached: isDetached) }
  }

  /// Has `body` take a request over, unless it throws, whose performing is an event. That uses the token up, and so does the
  /// end of a wait; of a request that is dropped, or that the host does not complete, the token is retired.
  package func registering(
    _ token: UInt64, as request: WorkItem, isAwaited: Bool, _ body: (WorkItem) throws(Failure) -> Int32
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      let request = own(request, token, retire: isAwaited ? Host.useToken : Host.retireToken)
      do throws(Failure) {
        return try body(request)
      } catch {
        // It came too late: that is a request which is dropped.
        if error.status != Status.closed { throw error }
        request.dispose()
        return Status.closed
      }
    }
  }
}
