// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Glibc
import Treadle

/// For a process in another language: adds a timer to the loop that the calling thread has, as Swift knows it, which calls `next`.
/// - Returns: how many items that loop has then, those of the others included; -1 if there is none.
@_cdecl("swift_part_start")
public func startPart(_ next: @escaping @convention(c) @Sendable () -> Void) -> Int32 {
  let say: RunLoopTimer.Fire = { _ in
    print("Swift")
    fflush(nil)
    next()
  }
  guard let loop = try? RunLoop.current(), (try? RunLoopTimer(after: .zero, fire: say).start()) != nil, let items = try? loop.items()
  else { return -1 }
  return Int32(truncatingIfNeeded: items.count)
}
