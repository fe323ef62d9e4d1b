// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A host of plugins: plugin-host FILE [KEY=VALUE...]. It loads a plugin with settings, starts it, runs the loop until SIGTERM or
// SIGINT, and ends it; with SIGHUP it loads the file anew, and the new one takes the old one's place. What the plugin tells is
// printed.

import Glibc
import Synchronization
import Treadle

let arguments = CommandLine.arguments.dropFirst()
guard let path = arguments.first else {
  print("usage: plugin-host FILE [KEY=VALUE...]")
  exit(2)
}
let pairs = arguments.dropFirst().map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init) }
let settings = Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { $1 }

@Sendable func load(_ settings: [String: String]) throws -> RunLoopPlugin {
  try RunLoopPlugin(path: path, settings: settings, log: tell)
}

@Sendable func tell(_ level: RunLoopPlugin.Level, _ text: String) {
  print(level == .information ? text : "\(level): \(text)")
  fflush(nil)
}

do {
  let loop = try RunLoop.main()
  let signals = try loop.posixSignals(SIGTERM, SIGINT, SIGHUP)
  let first = try load(settings)
  try first.start()
  print("\(first.id ?? ""), version \(first.version ?? ""), is \(first.state.map { "\($0)" } ?? "gone")")
  fflush(nil)
  let plugin = Mutex(first)

  Task(executorPreference: try loop.executor) {
    for await signal in signals {
      if signal.number != SIGHUP { break }
      do {
        let new = try plugin.withLock { $0 }.reload(path: path, settings: settings, log: tell)
        plugin.withLock { $0 = new }
        print("loaded anew")
        fflush(nil)
      } catch { print("cannot load it anew: \(error)") }
    }
    loop.stop()
  }

  try loop.run(whenEmpty: true)
  let last = plugin.withLock { $0 }
  for holder in last.holders { print("it ends: \(holder)") }
  try last.close(timeout: .seconds(10))
  print("is \(last.isValid ? "still there" : "gone")")
} catch let error as TreadleError {
  print("plugin-host: \(error.message)")
  exit(1)
}
