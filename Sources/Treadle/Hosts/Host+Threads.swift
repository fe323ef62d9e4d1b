// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// Threads and performs whose functions are events of a host.
extension Host {
  @_optimize(size)
  package func makeThread(_ token: UInt64) throws(Failure) -> Thread {
    var entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    entry.host = pointer
    entry.token = token
    return try registering { () throws(Failure) in try Thread.create(entry) }
  }

  @_optimize(size)
  package func perform(
    _ token: UInt64, on thread: Thread, modes: Thread.Modes?, wait: Bool
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      try thread.perform(Request(host: self, token: token), modes: modes, wait: wait)
    }
  }

  /// Performs without a wait. The token is retired only if it is not performed, or the host does not complete it.
  @_optimize(size)
  package func performOnce(_ token: UInt64, on thread: Thread) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      var request = Request(host: self, token: token)
      request.isUsedUp = true
      return try thread.perform(request, modes: nil, wait: false)
    }
  }

  /// Performs and waits. The token is not retired: all is over when this returns, or throws.
  package func performAndWait(_ token: UInt64, on thread: Thread) throws(Failure) -> Int32 {
    if isClosed { throw Failure(Status.closed, "host", "is quiet: it takes no more registrations") }
    var request = Request(host: self, token: token)
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
      let request = Request(host: self, token: token)
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
