// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

actor Counter {
  private let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private(set) var count = 0

  init(on loop: RunLoop) throws { executor = try loop.executor }

  func add() -> Int {
    count += 1
    return count
  }
}
