// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Swift is first, and runs the loop: one run serves what all of them have added.

import Parts
import Treadle

let loop = try RunLoop.current()
let library = CommandLine.arguments.dropFirst().first ?? ""
let python = unsafe library.withCString { unsafe start_python($0) }
let started = start_c() + start_cf() + python
try RunLoopTimer(after: .zero) { _ in
  print("Swift")
  _ = turn_of_c()
}.start()
let items = try loop.items().count
let result = try loop.run(for: .seconds(60))
print("\(started) started, \(items) items, \(result)")
