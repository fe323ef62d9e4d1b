// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The demo of examples/demo in Swift: demo [FILE]; without one it reads standard input. The main loop watches the input, and gives
// each line to a worker thread by a source; the worker answers by another one. Both loops end because nothing is left to wait for.

import Glibc
import Treadle

/// The main side. Its state belongs to the main thread.
final class Main: @unchecked Sendable {
  private let commands = Queue<Command>()
  private let answers = Queue<Answer>()
  private let worker: Worker
  private var summary = Summary()
  private var input: RunLoopDescriptor?
  private var partial: [UInt8] = []
  private var given = 0, answered = 0

  /// The worker may be so many lines behind before the input pauses.
  private static let most = 1000

  init() { worker = Worker(commands, answers) }

  func run(_ descriptor: Int32) throws {
    let loop = try RunLoop.main()
    try answers.start(label: "answers") { source, answers in
      for answer in answers { self.take(answer, of: source) }
    }
    let worker = worker
    let thread = try RunLoopThread(name: "worker") {
      try worker.live(ready: RunLoopThread.declareReady)
    }
    try thread.startAndWait()
    input = try RunLoopDescriptor(descriptor, label: "input") { source, _ in self.read(source) }.start()
    try loop.run()
    try thread.join()
    summary.show()
    let note = "\(worker.passes) passes of the worker, \(worker.heartbeats) heartbeats\n"
    _ = note.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  }

  private func read(_ source: RunLoopDescriptor) {
    var room = [UInt8](repeating: 0, count: 65536)
    let count = Glibc.read(source.descriptor, &room, room.count)
    if count > 0 {
      summary.bytes += count
      give(room[..<count])
      pause()
    } else if count == 0 {
      if !partial.isEmpty { give([UInt8(ascii: "\n")]) }
      source.invalidate()
      input = nil
      commands.put(.last)
    } else if errno != EINTR && errno != EAGAIN {
      perror("demo: cannot read the input")
      exit(1)
    }
  }

  private func give(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      given += 1
      commands.put(.line(given, ArraySlice(partial + rest[..<end])))
      partial = []
      rest = rest[(end + 1)...]
    }
    partial += rest
  }

  private func take(_ answer: Answer, of source: RunLoopSource) {
    switch answer {
    case .line(let result):
      answered += 1
      summary.add(result)
      pause()
    case .words(let counts):
      summary.add(counts)
      source.invalidate()
    }
  }

  private func pause() {
    let wanted: RunLoopReadiness = given - answered > Main.most ? [] : .readable
    if let input, input.readiness != wanted { try? input.setReadiness(wanted) }
  }
}

let path = CommandLine.arguments.dropFirst().first
let descriptor = path.map { open($0, O_RDONLY | O_CLOEXEC) } ?? STDIN_FILENO
if descriptor < 0 {
  perror("demo: cannot open \(path ?? "")")
  exit(1)
}
try Main().run(descriptor)
