// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

let end = RunLoopInstant.now + .milliseconds(500)
try RunLoopTimer(after: .zero, repeating: .milliseconds(100)) { timer in
  print("fired")
  if RunLoopInstant.now >= end { timer.invalidate() }
}.start()
try RunLoop.current().run()
