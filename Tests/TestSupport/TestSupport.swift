// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// How long a test waits for an event that never comes; only a broken one meets it.
public let patience: Duration = .seconds(getenv("TREADLE_TEST_SECONDS").flatMap { Int(String(cString: $0)) } ?? 120)

/// So many rounds of a test that repeats itself, or the part of them that TREADLE_TEST_SCALE says.
public func scaled(_ rounds: Int) -> Int {
  Int(Double(rounds) * (getenv("TREADLE_TEST_SCALE").flatMap { Double(String(cString: $0)) } ?? 1))
}

/// An event never came.
public struct TimedOut: Error {}

/// An event that threads wait for: each signal lets one of them go on.
public final class Signal: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  public init() {
    semaphore = .allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  public func signal() { sem_post(semaphore) }

  /// Whether there is a signal now; takes it.
  public var isSignalled: Bool { sem_trywait(semaphore) == 0 }

  /// Waits without keeping the thread, which other tasks may need.
  public func comes() async { while !isSignalled { await Task.yield() } }

  /// Waits as long as it takes, for a task of a test that has a watchdog.
  public func waitWatched() { while sem_wait(semaphore) != 0 {} }

  public func wait() throws {
    var until = timespec()
    clock_gettime(CLOCK_REALTIME, &until)
    until.tv_sec += Int(patience.components.seconds)
    while sem_timedwait(semaphore, &until) != 0 { if errno != EINTR { throw TimedOut() } }
  }
}

/// A value that several threads share, behind a mutex that the thread sanitizer knows, as it does not know Synchronization's.
public final class Guarded<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  public init(_ value: Value) {
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    self.value = value
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

/// What threads report, in the order of their reports.
public final class Log: Sendable {
  private let lines = Guarded<[String]>([])

  public init() {}

  public func add(_ line: String) { lines.withLock { $0.append(line) } }

  public var all: [String] { lines.withLock { $0 } }
}

/// Signals its end: shows when what holds it was released.
public final class Tracked: Sendable {
  private let gone: Signal
  public init(_ gone: Signal) { self.gone = gone }
  deinit { gone.signal() }

  /// Stands for a use of what is held.
  public func use() {}
}

/// A thread that Treadle did not start.
public final class ForeignThread {
  private var thread = pthread_t()

  public init(_ body: @escaping @Sendable () -> Void) throws {
    let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { info in
      if let info { Unmanaged<ForeignBody>.fromOpaque(info).takeRetainedValue().run() }
      return nil
    }
    try #require(pthread_create(&thread, nil, start, Unmanaged.passRetained(ForeignBody(body)).toOpaque()) == 0)
  }

  public func join() { pthread_join(thread, nil) }
}

private final class ForeignBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// The calling thread's name as the kernel has it.
public func kernelName() -> String {
  let file = open("/proc/thread-self/comm", O_RDONLY)
  defer { close(file) }
  var name = [UInt8](repeating: 0, count: 16)
  let size = read(file, &name, name.count)
  return String(decoding: name.prefix(max(size - 1, 0)), as: UTF8.self)
}

/// The calling thread's id as the kernel has it.
public func kernelThreadID() -> Int32 {
  var path = [CChar](repeating: 0, count: 64)
  let size = readlink("/proc/thread-self", &path, path.count)
  let text = String(decoding: path.prefix(max(size, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return text.split(separator: "/").last.flatMap { Int32($0) } ?? 0
}

/// In a process of an exit test: ends it when something is wrong.
public func demand(_ isTrue: Bool, _ text: String) {
  if isTrue { return }
  let line = text + "\n"
  _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  exit(EXIT_FAILURE)
}
