// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

let loop = try RunLoop.current()
let bell = try RunLoopSource { source in
  print("rung")
  loop.stop()
}.start()

let end = RunLoopInstant.now + .milliseconds(500)
try RunLoopTimer(after: .zero, repeating: .milliseconds(100)) { timer in
  print("fired")
  if RunLoopInstant.now >= end { bell.signal() }
}.start()
print(try loop.run())
