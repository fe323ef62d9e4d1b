// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// Threads and performs whose functions are events of a host.
extension Host {
  package func makeThread(_ token: UInt64) throws(Failure) -> Thread {
    var entry = ThreadEntry(code: nil, info: nil, destroy: nil)
    entry.host = pointer
    entry.token = token
    return try registering { () throws(Failure) in try Thread.create(entry) }
  }

  package func perform(
    _ token: UInt64, on thread: Thread, modes: Thread.Modes?, wait: Bool
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      try thread.perform(Request(host: self, token: token), modes: modes, wait: wait)
    }
  }

  /// Has `body` take a request over, unless it throws, whose performing will be an event. The token of one that comes
  /// too late is retired as well.
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
