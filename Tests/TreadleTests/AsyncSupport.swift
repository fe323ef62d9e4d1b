// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Treadle

/// Calls `body` on a new thread, so that none of the pool's waits, and returns what it does.
@discardableResult
func elsewhere<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  // The order that the thread sanitizer sees.
  let done = Tally()
  defer { _ = done.count }
  return try await withCheckedThrowingContinuation { continuation in
    do {
      try RunLoopThread.detachNew {
        let result = Result { try body() }
        done.add()
        continuation.resume(with: result)
      }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}

/// Ends the process when `body` takes longer than the tests are patient. A second counts once all tasks that were ready have had
/// their turn, so that patience is not used up where other tests keep the pool busy; if the pool is stuck, five times as long is over.
func watched(_ name: String = #function, _ body: () async throws -> Void) async throws {
  let timer = try RunLoopTimer(after: patience * 5) { _ in fatalError("\(name) hangs, or the pool of tasks") }
  try watchdog.get().add(timer)
  let seconds = Task<Void, any Error>.detached {
    for _ in 0..<patience.components.seconds { try await Task.sleep(for: .seconds(1)) }
    fatalError("\(name) hangs")
  }
  defer {
    seconds.cancel()
    timer.invalidate()
  }
  try await body()
}

private let watchdog = Result { try RunLoopThread.startWorker(name: "watchdog").loop }

/// A loop that runs on a thread of its own while `body` is called; the thread is gone afterwards.
func withWorker<Value: Sendable>(_ body: (RunLoopThread, RunLoop) async throws -> Value) async throws -> Value {
  let worker = try await elsewhere { try RunLoopThread.startWorker() }
  let result: Result<Value, any Error>
  do { result = .success(try await body(worker, worker.loop)) } catch { result = .failure(error) }
  try await end(worker)
  return try result.get()
}

/// Stops a thread's loop, and waits until it is gone.
func end(_ thread: RunLoopThread) async throws {
  if !thread.isFinished { try await elsewhere { try thread.stopAndJoin(timeout: patience) } }
}

/// A thread with a loop that it never runs: it ends when it is told to.
final class IdleThread: Sendable {
  let thread: RunLoopThread
  let loop: RunLoop
  private let over = Signal()

  init() throws {
    thread = try RunLoopThread { [over] in over.waitWatched() }
    loop = try thread.loop
    try thread.start()
  }

  func end() async throws {
    over.signal()
    try await elsewhere { try self.thread.join(timeout: patience) }
  }
}

/// Counts from any thread; tasks may wait for a count.
final class Tally: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .acquiring) }
  func add() { value.add(1, ordering: .acquiringAndReleasing) }

  /// Under the test's watchdog.
  func reaches(_ count: Int) async {
    while self.count < count { await Task.yield() }
  }
}

/// Counts in its end: shows that what holds it was released.
final class Held: Sendable {
  private let gone: Tally
  init(_ gone: Tally) { self.gone = gone }
  deinit { gone.add() }
  func use() {}
}
