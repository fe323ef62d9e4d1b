// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The same as main.c, on the Swift module: a timer signals a source, which stops the loop.
import Synchronization
import Treadle

let performed = Atomic<Int>(0)
let fired = Atomic<Int>(0)

let loop = try RunLoop.current()
let source = try RunLoopSource { _ in
  if performed.add(1, ordering: .relaxed).newValue == 3 { loop.stop() }
}
let timer = try RunLoopTimer(after: .zero, repeating: .milliseconds(1)) { _ in
  fired.add(1, ordering: .relaxed)
  source.signal()
}
try loop.add(source)
try loop.add(timer)
let result = try loop.run()
timer.invalidate()
source.invalidate()
let ended = result == .stopped && fired.load(ordering: .relaxed) >= 3
print("treadle: performed \(performed.load(ordering: .relaxed)), stopped \(ended)")
