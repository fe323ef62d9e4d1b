// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

@_silgen_name("pthread_sigqueue")
private func pthread_sigqueue(_ thread: pthread_t, _ signal: Int32, _ value: sigval) -> Int32

/// One of the real-time signals, of which each that is sent is kept.
private let realTime: Int32 = 40

/// Signals of the operating system as a sequence.
@Suite("Signals of the operating system")
struct POSIXSignalTests {
  /// A sequence of signals for a worker's loop, whose thread blocks them alone.
  private func signals(
    _ worker: RunLoopThread, in mode: RunLoopMode = .common, scope: RunLoopScope? = nil
  ) async throws -> RunLoopSequence<RunLoopPOSIXSignal> {
    try await worker.loop.perform { try worker.loop.posixSignals(SIGUSR2, SIGUSR1, realTime, in: mode, scope: scope) }
  }

  private func send(_ signal: Int32, to thread: RunLoopThread) throws { #expect(try pthread_kill(pthread_t(thread.pthread), signal) == 0) }

  @Test("each signal that comes is an element, also when the consumer is slow")
  func received() async throws {
    try await watched {
      try await withWorker { worker, _ in
        let sequence = try await signals(worker)
        var iterator = sequence.makeAsyncIterator()
        for _ in 0..<20 {
          try send(SIGUSR2, to: worker)
          let signal = try #require(await iterator.next())
          #expect(signal.number == SIGUSR2 && signal.processID == getpid() && signal.userID == getuid())
        }
        // What nobody has asked for yet is kept.
        try send(SIGUSR2, to: worker)
        try send(SIGUSR1, to: worker)
        for value in 0..<3 {
          #expect(try pthread_sigqueue(pthread_t(worker.pthread), realTime, sigval(sival_int: Int32(value))) == 0)
        }
        var numbers: [Int32] = [], values: [Int32] = []
        for _ in 0..<5 {
          let signal = try #require(await iterator.next())
          if signal.number == realTime { values.append(signal.value) } else { numbers.append(signal.number) }
        }
        #expect(numbers.sorted() == [SIGUSR1, SIGUSR2].sorted() && values == [0, 1, 2])
        #expect("\(sequence)".contains("descriptor"))
        sequence.end()
        #expect(await iterator.next() == nil)
      }
    }
  }

  @Test("OBJ-4 SCOPE-2: it ends with its task, its scope, and its loop; the descriptor is closed")
  func ends() async throws {
    try await watched {
      let worker = try await elsewhere { try RunLoopThread.startWorker() }, scope = try RunLoopScope()
      let loop = try worker.loop
      let sequences = [try await signals(worker), try await signals(worker, scope: scope), try await signals(worker)]
      let tasks = sequences.map { sequence in Task { for await _ in sequence {} } }
      tasks[0].cancel()
      await tasks[0].value
      #expect(!sequences[0].isValid)
      try await elsewhere { try scope.close(timeout: patience) }
      await tasks[1].value
      #expect(!sequences[1].isValid && sequences[2].isValid)
      try await end(worker)
      await tasks[2].value
      // On a thread that ends, since it blocks the signal.
      await #expect(throws: TreadleError.self) { try await elsewhere { try loop.posixSignals(SIGURG) } }
    }
  }

  @Test("what is no signal, or cannot be received, is refused")
  func refused() throws {
    let loop = try RunLoop.current()
    for number in [0, -1, SIGKILL, SIGSTOP, 1000, 32] { #expect(status { _ = try loop.posixSignals(number) } == .argument) }
    #expect(status { _ = try loop.posixSignals() } == .argument)
  }
}
