// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What `await` costs with an event loop of SwiftNIO; see ../../../swift-interface, whose way of measuring it has.
//
//   nio-bench list
//   nio-bench run WORKLOAD [quick] [host]

import Glibc
import NIOCore
import NIOPosix

/// Counted by bodies on one thread at a time.
final class Counter: @unchecked Sendable { var value = 0 }

/// An actor that lives on an event loop.
actor LoopActor {
  private let executor: NIOSerialEventLoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  init(on loop: any EventLoop) { executor = NIOSerialEventLoopExecutor(loop) }

  func step() { counter.value += 1 }
}

/// Who waits: an actor in Swift's own pool. It counts what has come back, and so is back there each time.
actor Caller {
  private var answers = 0

  func step(_ count: Int, on other: LoopActor) async {
    for _ in 0..<count {
      await other.step()
      answers += 1
    }
  }

  func submit(_ count: Int, to loop: any EventLoop) async throws {
    for _ in 0..<count {
      try await loop.submit { counter.value += 1 }.get()
      answers += 1
    }
  }
}

/// As programs write theirs by hand.
final class NIOSerialEventLoopExecutor: SerialExecutor {
  private let loop: any EventLoop
  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

let counter = Counter(), caller = Caller(), batch = 500

// The C library's, which Glibc's module lacks.
@_silgen_name("sched_getaffinity")
func getAffinity(_ process: Int32, _ size: Int, _ processors: UnsafeMutableRawPointer) -> Int32
@_silgen_name("sched_setaffinity")
func setAffinity(_ process: Int32, _ size: Int, _ processors: UnsafeRawPointer) -> Int32

/// All threads on the last of the processors.
func bindProcess() {
  var allowed = [UInt64](repeating: 0, count: 16), one = allowed
  guard getAffinity(0, 128, &allowed) >= 0, let word = allowed.lastIndex(where: { $0 != 0 }) else { return }
  one[word] = 1 << UInt64(63 - allowed[word].leadingZeroBitCount)
  _ = setAffinity(0, 128, one)
}

func processorTime() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

func measure(_ name: String, isQuick: Bool, _ work: () async throws -> Void) async throws {
  let batches = isQuick ? 3 : 81
  var spent: [Double] = []
  for _ in 0..<batches {
    let before = counter.value, begun = processorTime()
    try await work()
    spent.append(Double(processorTime() - begun) / Double(batch))
    guard counter.value - before == batch else {
      let line = "\(name): this does not hold: each body is called once\n"
      _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
      exit(1)
    }
  }
  let median = (spent.sorted()[batches / 2] * 10).rounded() / 10
  print("{\"figure\": \"\(name)\", \"value\": \(median), \"unit\": \"ns\"}")
}

let words = CommandLine.arguments, isQuick = words.contains("quick")
switch (words.dropFirst().first, words.dropFirst(2).first) {
case ("list", _): print("nio peer\nawait_perform\nawait_actor")
case ("run", "await_perform"):
  bindProcess()
  let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
  try await measure("await_perform", isQuick: isQuick) { try await caller.submit(batch, to: loop) }
case ("run", "await_actor"):
  bindProcess()
  let actor = LoopActor(on: MultiThreadedEventLoopGroup(numberOfThreads: 1).next())
  try await measure("await_actor", isQuick: isQuick) { await caller.step(batch, on: actor) }
default: exit(2)
}
