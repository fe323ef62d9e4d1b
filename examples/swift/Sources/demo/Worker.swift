// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

/// Told to the worker: a line with its number, or that there are no more.
enum Command: Sendable {
  case line(Int, ArraySlice<UInt8>)
  case last
}

/// What it answers: one result for each line, and at the end all words.
enum Answer: Sendable {
  case line(LineResult)
  case words([[UInt8]: Int])
}

/// Examines lines until the last command; then it has nothing left to wait for, and its run ends. Its state belongs to its thread.
final class Worker: @unchecked Sendable {
  private let commands: Queue<Command>
  private let answers: Queue<Answer>
  private var counts: [[UInt8]: Int] = [:]
  private var lines = 0, linesAtHeartbeat = 0
  private(set) var heartbeats = 0, passes = 0

  init(_ commands: Queue<Command>, _ answers: Queue<Answer>) {
    self.commands = commands
    self.answers = answers
  }

  /// The thread's life.
  func live(ready: @Sendable () -> Void) throws {
    let loop = try RunLoop.current()
    let observer = try RunLoopObserver(of: .beforeTimers) { _, _ in self.passes += 1 }
    try observer.start()
    // While there is work, and ever more rarely without: so that a worker who waits for somebody at a terminal costs nothing.
    let heartbeat = try RunLoopTimer(after: .milliseconds(1), label: "heartbeat") { timer in self.beat(timer) }
    try heartbeat.start()
    try commands.start(label: "commands") { source, commands in
      for command in commands {
        switch command {
        case .line(let number, let line): self.examine(number, line)
        case .last:
          self.answers.put(.words(self.counts))
          heartbeat.invalidate()
          source.invalidate()
        }
      }
    }
    ready()
    try loop.run()
    observer.invalidate()
  }

  private func examine(_ number: Int, _ line: ArraySlice<UInt8>) {
    let found = words(of: line)
    for word in found { counts[word, default: 0] += 1 }
    lines += 1
    answers.put(.line(LineResult(number: number, length: line.count, words: found.count, checksum: checksum(0, line))))
  }

  private func beat(_ timer: RunLoopTimer) {
    heartbeats += 1
    timer.arm(after: lines == linesAtHeartbeat ? .milliseconds(500) : .milliseconds(1))
    linesAtHeartbeat = lines
  }
}
