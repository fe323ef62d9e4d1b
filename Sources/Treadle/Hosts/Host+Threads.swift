// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
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

  package func makeThread(_ token: UInt64) throws(Failure) -> Thread {
    let entry = ThreadEntry(host: pointer, token: token, run: Host.runThread, retire: Host.retireToken)
    return try registering { () throws(Failure) in try Thread.create(entry) }
  }

  package func perform(
    _ token: UInt64, on thread: Thread, modes: ModeNames?, wait: Bool
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      try thread.perform(request(token), modes: modes, wait: wait)
    }
  }

  /// Performs without a wait. The token is retired only if it is not performed, or the host does not complete it.
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

/// A word of a host's memory by which it makes an end known that threads wait for, as that of a future: a `Completion` there.
package struct HostWord {
  private let completion: UnsafeMutablePointer<Completion>

  package init(_ word: UnsafeMutablePointer<UInt32>?) throws(Failure) {
    guard let word else { throw Failure(Status.argument, "word", "is NULL") }
    if UInt(bitPattern: word) & 3 != 0 { throw Failure(Status.argument, "word", "is not aligned") }
    assert(MemoryLayout<Completion>.size == MemoryLayout<UInt32>.size)
    completion = UnsafeMutableRawPointer(word).assumingMemoryBound(to: Completion.self)
  }

  package func end() {
    Loop.existing?.state.pointee.answers.note()
    completion.pointee.end()
  }

  /// Until the end, which is to come from this loop. A failure: the timeout, or a signal, after which the host looks and waits
  /// again.
  package func wait(for loop: Loop, timeout: Int64) throws(Failure) {
    completion.pointee.wait(loop.answers, until: Clock.after(timeout, from: Clock.now()), isRepeated: false)
    if !completion.pointee.isOver {
      throw Failure(Status.timeout, "timeout_ns", "passed, or a signal came, before the end")
    }
  }
}

extension Thread {
  /// Waits for an end that is to come from the loop of this thread. One that has finished since performs nothing
  /// any more, and ends no wait.
  package func wait(for word: HostWord, timeout: Int64) throws(Failure) {
    let loop = try holdLoop()
    defer { loop.letGo() }
    try word.wait(for: loop, timeout: timeout)
  }
}
