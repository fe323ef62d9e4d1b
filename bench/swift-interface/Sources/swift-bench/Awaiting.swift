// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Dispatch
import Treadle

/// Who waits: an actor in Swift's own pool. It counts what has come back, and so is back there each time.
actor Caller {
  private var answers = 0

  func step(_ count: Int, on other: LoopActor) async {
    for _ in 0..<count {
      await other.step()
      answers += 1
    }
  }

  func step(_ count: Int, on other: QueueActor) async {
    for _ in 0..<count {
      await other.step()
      answers += 1
    }
  }

  func perform(_ count: Int, on loop: RunLoop) async throws {
    for _ in 0..<count {
      try await loop.perform { counter.value += 1 }
      answers += 1
    }
  }
}

/// An actor that lives on a loop.
actor LoopActor {
  private let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  init(on loop: RunLoop) throws { executor = try loop.executor }

  func step() { counter.value += 1 }
}

/// As programs write theirs by hand: each job is a block of the queue.
final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "bench")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

/// An actor that lives on a queue of libdispatch.
actor QueueActor {
  private let executor = QueueExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func step() { counter.value += 1 }
}
