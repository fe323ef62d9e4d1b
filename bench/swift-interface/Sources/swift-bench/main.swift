// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What the Swift interface costs beside the C interface, and what `await` costs beside a queue of libdispatch.
//
//   swift-bench treadle|c|libdispatch list
//   swift-bench treadle|c|libdispatch run WORKLOAD [quick] [host]
//
// All threads are on one processor, and what they spend on it is counted, whatever else the machine does meanwhile.

import CWork
import Dispatch
import Glibc
import Treadle

/// Does something so many times on the main thread, and counts it.
typealias Work = (Int) throws -> Void

/// The same in a task, which the main thread waits for: a wait is a small part of a batch.
func awaited(_ work: @escaping @Sendable (Int) async throws -> Void) -> Work {
  { count in
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      do { try await work(count) } catch { fail("\(error)") }
      done.signal()
    }
    done.wait()
  }
}

struct Workload {
  let name: String
  /// How many times in a batch.
  let batch: Int
  /// By the way that it is done in.
  let ways: [String: () throws -> Work]
}

func counted(_ work: @escaping (Int) -> Void) -> Work {
  { count in
    let before = c_counted()
    work(count)
    counter.value += Int(c_counted() - before)
  }
}

let caller = Caller()

let workloads = [
  Workload(
    name: "swift_post", batch: 2000,
    ways: ["treadle": { { try SwiftWork.post($0) } }, "c": { counted { c_post(Int64($0)) } }]),
  Workload(
    name: "swift_signal", batch: 2000,
    ways: ["treadle": { { try SwiftWork.signal($0) } }, "c": { counted { c_signal(Int64($0)) } }]),
  Workload(
    name: "swift_timer_made", batch: 1000,
    ways: ["treadle": { { try SwiftWork.timer($0) } }, "c": { counted { c_timer(Int64($0)) } }]),
  Workload(
    name: "swift_timer", batch: 2000,
    ways: ["treadle": { { try SwiftWork.rearm($0) } }, "c": { counted { c_rearm(Int64($0)) } }]),
  Workload(
    name: "swift_wait", batch: 500,
    ways: [
      "treadle": {
        let worker = try RunLoopThread.startWorker()
        return { try SwiftWork.wait($0, on: worker) }
      }, "c": { counted { c_wait(Int64($0)) } },
    ]),
  Workload(
    name: "await_perform", batch: 500,
    ways: [
      "treadle": {
        let loop = try RunLoopThread.startWorker().loop
        return awaited { try await caller.perform($0, on: loop) }
      },
      "libdispatch": {
        let actor = QueueActor()
        return awaited { await caller.step($0, on: actor) }
      },
    ]),
  Workload(
    name: "await_actor", batch: 500,
    ways: [
      "treadle": {
        let actor = try LoopActor(on: RunLoopThread.startWorker().loop)
        return awaited { await caller.step($0, on: actor) }
      },
      "libdispatch": {
        let actor = QueueActor()
        return awaited { await caller.step($0, on: actor) }
      },
    ]),
]
let roles = ["treadle": "own", "c": "floor", "libdispatch": "peer"]

func fail(_ reason: String) -> Never {
  let line = reason + "\n"
  _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  exit(1)
}

func measure(_ workload: Workload, isQuick: Bool, _ work: (Int) throws -> Void) rethrows {
  let batches = isQuick ? 3 : 81
  var spent: [Double] = []
  for _ in 0..<batches {
    let before = counter.value, begun = processor_time()
    try work(workload.batch)
    spent.append(Double(processor_time() - begun) / Double(workload.batch))
    if counter.value - before != workload.batch { fail("\(workload.name): this does not hold: each body is called once") }
  }
  let median = (spent.sorted()[batches / 2] * 10).rounded() / 10
  print("{\"figure\": \"\(workload.name)\", \"value\": \(median), \"unit\": \"ns\"}")
}

let words = CommandLine.arguments
guard words.count >= 3, let role = roles[words[1]] else { exit(2) }
if words[2] == "list" {
  print(words[1], role)
  for workload in workloads where workload.ways[words[1]] != nil { print(workload.name) }
} else if words.count >= 4, let workload = workloads.first(where: { $0.name == words[3] }), let make = workload.ways[words[1]] {
  bind_process()
  try measure(workload, isQuick: words.contains("quick"), make())
} else {
  exit(2)
}
