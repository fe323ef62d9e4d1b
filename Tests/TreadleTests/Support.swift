// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle
import TreadleBase

#if canImport(Glibc)
  import Glibc
#endif

/// How long a test waits for an event that never comes; only a broken one meets it.
let patience: Duration = .seconds(getenv("TREADLE_TEST_SECONDS").flatMap { Int(String(cString: $0)) } ?? 120)

/// An event never came.
struct TimedOut: Error {}

/// An event that threads wait for: each signal lets one of them go on.
final class Signal: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    semaphore = .allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  /// Whether there is a signal now; takes it.
  var isSignalled: Bool { sem_trywait(semaphore) == 0 }

  func wait() throws {
    var until = timespec()
    clock_gettime(CLOCK_REALTIME, &until)
    until.tv_sec += Int(patience.components.seconds)
    while sem_timedwait(semaphore, &until) != 0 { if errno != EINTR { throw TimedOut() } }
  }
}

/// What threads report, in the order of their reports.
final class Log: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var lines: [String] = []

  init() {
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func add(_ line: String) {
    pthread_mutex_lock(mutex)
    lines.append(line)
    pthread_mutex_unlock(mutex)
  }

  var all: [String] {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return lines
  }
}

/// Signals its end: shows when what holds it was released.
final class Tracked: Sendable {
  private let gone: Signal
  init(_ gone: Signal) { self.gone = gone }
  deinit { gone.signal() }

  /// Stands for a use of what is held.
  func use() {}
}

/// A thread that Treadle did not start.
final class ForeignThread {
  private var thread = pthread_t()

  init(_ body: @escaping @Sendable () -> Void) throws {
    let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { info in
      if let info { Unmanaged<ForeignBody>.fromOpaque(info).takeRetainedValue().run() }
      return nil
    }
    try #require(pthread_create(&thread, nil, start, Unmanaged.passRetained(ForeignBody(body)).toOpaque()) == 0)
  }

  func join() { pthread_join(thread, nil) }
}

private final class ForeignBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// The status of the failure that `body` throws; `Status.ok` for none, nil for an error of another type.
func status(_ body: () throws -> Void) -> Int32? {
  do {
    try body()
    return Status.ok
  } catch {
    return (error as? Failure)?.status
  }
}

/// Runs `body` on a new thread of Treadle's until it has ended; throws what it throws.
func onThread(_ body: @escaping @Sendable () throws -> Void) throws {
  let outcome = Outcome()
  let thread = try RunLoopThread {
    do { try body() } catch { outcome.error = error }
  }
  try thread.start()
  try thread.join(timeout: patience)
  if let error = outcome.error { throw error }
}

/// Written by one thread, read after a join by another.
private final class Outcome: @unchecked Sendable {
  var error: (any Error)?
}

/// A thread that runs its loop while `body` is called.
func withLoopThread(_ body: (RunLoopThread) throws -> Void) throws {
  let thread = try RunLoopThread {
    let loop = try RunLoop.current()
    let keeper = try RunLoopSource {}
    try loop.add(keeper)
    try loop.run()
    keeper.invalidate()
  }
  try thread.startAndWait(timeout: patience)
  do { try body(thread) } catch {
    try? thread.stopAndJoin(timeout: patience)
    throw error
  }
  try thread.stopAndJoin(timeout: patience)
}

/// The calling thread's name as the kernel has it.
func kernelName() -> String {
  let file = open("/proc/thread-self/comm", O_RDONLY)
  defer { close(file) }
  var name = [UInt8](repeating: 0, count: 16)
  let size = read(file, &name, name.count)
  return String(decoding: name.prefix(max(size - 1, 0)), as: UTF8.self)
}

/// In a process of an exit test: ends it when something is wrong.
func demand(_ isTrue: Bool, _ text: String) {
  if isTrue { return }
  let line = text + "\n"
  _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  exit(EXIT_FAILURE)
}
