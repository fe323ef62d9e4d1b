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
}
