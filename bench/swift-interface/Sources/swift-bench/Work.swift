// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

/// Counted by bodies on one thread at a time.
final class Counter: @unchecked Sendable { var value = 0 }
let counter = Counter()
/// The main thread's.
private let loop = try! RunLoop.current()

/// The work of work.c in Swift. Each function does something `count` times.
enum SwiftWork {
  /// So many posts, or timers, wait at a time: each makes the next.
  private static let depth = 4

  private static func postNext(_ left: Int) throws {
    try loop.post {
      counter.value += 1
      if left > 1 { try postNext(left - 1) }
    }
  }

  static func post(_ count: Int) throws {
    for _ in 0..<depth { try postNext(count / depth) }
    try loop.run()
  }

  static func signal(_ count: Int) throws {
    let last = counter.value + count
    let source = try RunLoopSource { source in
      counter.value += 1
      if counter.value < last { source.signal() } else { source.invalidate() }
    }
    try loop.add(source)
    source.signal()
    try loop.run()
  }

  private static func makeTimer(_ left: Int) throws {
    try loop.add(
      RunLoopTimer(after: .zero, endsAfterFiring: true) { _ in
        counter.value += 1
        if left > 1 { try makeTimer(left - 1) }
      })
  }

  static func timer(_ count: Int) throws {
    for _ in 0..<depth { try makeTimer(count / depth) }
    try loop.run()
  }

  static func rearm(_ count: Int) throws {
    let last = counter.value + count
    let timer = try RunLoopTimer(after: .zero) { timer in
      counter.value += 1
      if counter.value < last { timer.arm(after: .zero) } else { timer.invalidate() }
    }
    try loop.add(timer)
    try loop.run()
  }

  static func wait(_ count: Int, on worker: RunLoopThread) throws {
    for _ in 0..<count {
      let number = 1
      try worker.perform(waitUntilDone: true) { counter.value += number }
    }
  }
}
