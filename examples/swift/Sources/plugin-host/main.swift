// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A host of plugins: plugin-host [--isolate] FILE [KEY=VALUE...]. It loads a plugin with settings, with --isolate in a process of its
// own, starts it, runs the loop until SIGTERM or SIGINT, and ends it; with SIGHUP it loads the file anew, and the new one takes the
// old one's place. What the plugin tells is printed.

import Glibc
import Treadle

var arguments = CommandLine.arguments.dropFirst()
let isIsolated = arguments.first == "--isolate"
if isIsolated { arguments.removeFirst() }
guard let path = arguments.first else {
  print("usage: plugin-host [--isolate] FILE [KEY=VALUE...]")
  exit(2)
}
let pairs = arguments.dropFirst().map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init) }
let settings = Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { $1 }

@Sendable func tell(_ level: RunLoopPlugin.Level, _ text: String) {
  print(level == .information ? text : "\(level): \(text)")
  fflush(nil)
}

do {
  let loop = try RunLoop.main()
  let signals = try loop.posixSignals(SIGTERM, SIGINT, SIGHUP)
  let plugin = try RunLoopPlugin(
    path: path, settings: settings, isolated: isIsolated, loadTimeout: isIsolated ? .seconds(10) : nil, log: tell)
  try plugin.start()
  print("\(plugin.id ?? ""), version \(plugin.version ?? ""), is \(plugin.state.map { "\($0)" } ?? "gone")")
  fflush(nil)

  Task(executorPreference: try loop.executor) {
    for await signal in signals {
      if signal.number != SIGHUP { break }
      do {
        try plugin.reload(path: path, settings: settings, log: tell)
        print("loaded anew")
        fflush(nil)
      } catch { print("cannot load it anew: \(error)") }
    }
    loop.stop()
  }

  try loop.run(whenEmpty: true)
  for holder in plugin.holders { print("it ends: \(holder)") }
  try plugin.close(timeout: .seconds(10))
  print("is \(plugin.isValid ? "still there" : "gone")")
} catch {
  print("plugin-host: \(error.message)")
  exit(1)
}
