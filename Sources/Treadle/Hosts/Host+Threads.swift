// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// Threads and performs whose functions are events of a host.
extension Host {
  /// A request whose performing is an event that carries the token, which is retired at the end.
  private func request(_ token: UInt64) -> Request {
    var request = Request(function: nil, target: nil, argument: nil)
    request.indirect = callback
    request.token = token
    request.host = pointer
    request.retire = Host.retireToken
    return request
  }

  private static let runThread: ThreadEntry.RunForHost = { memory, token, thread in
    guard let memory else { return }
    var event = Event(Event.Kind.thread, token: token, loop: nil, subject: thread, mode: nil)
    Host(memory).runEntry(&event)
  }

  @_optimize(size)
  package func makeThread(_ token: UInt64) throws(Failure) -> Thread {
    let entry = ThreadEntry(host: pointer, token: token, run: Host.runThread, retire: Host.retireToken)
    return try registering { () throws(Failure) in try Thread.create(entry) }
  }

  @_optimize(size)
  package func perform(
    _ token: UInt64, on thread: Thread, modes: ModeNames?, wait: Bool
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      try thread.perform(request(token), modes: modes, wait: wait)
    }
  }

  /// Performs without a wait. The token is retired only if it is not performed, or the host does not complete it.
  @_optimize(size)
  package func performOnce(_ token: UInt64, on thread: Thread) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      var request = request(token)
      request.retireUsed = Host.useToken
      return try thread.perform(request, modes: nil, wait: false)
    }
  }

  /// Performs and waits. The token is not retired: all is over when this returns, or throws.
  package func performAndWait(_ token: UInt64, on thread: Thread) throws(Failure) -> Int32 {
    if isClosed { throw Failure(Status.closed, "host", "is quiet: it takes no more registrations") }
    var request = request(token)
    request.retire = nil
    return try thread.perform(request, modes: nil, wait: true)
  }

  /// Has `body` take a request over, unless it throws, whose performing will be an event. The token of one that comes
  /// too late is retired as well.
  @_optimize(size)
  package func registerRequest(
    _ token: UInt64, _ body: (Request) throws(Failure) -> Int32
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      let request = request(token)
      do throws(Failure) {
        return try body(request)
      } catch {
        if error.status != Status.closed { throw error }
        request.dispose()
        return Status.closed
      }
    }
  }
}
