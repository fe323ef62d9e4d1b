// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

@Suite("Call stacks")
struct CallStackTests {
  @inline(never)
  private func deep(_ levels: Int) -> [UInt] {
    let below = levels == 0 ? RunLoopThread.callStackReturnAddresses : deep(levels - 1)
    return below.count > 1 ? below : []
  }

  @Test("THR-16: the addresses of a call stack: never none, at most 128, the same calls the same ones")
  func addresses() throws {
    let shallow = deep(1), deeper = deep(5)
    #expect(shallow.count > 1 && deeper.count == min(shallow.count + 4, 128))
    #expect(deep(1000).count == 128)
    #expect(!shallow.contains(0))
    // The recursion returns to one place.
    let twice = Dictionary(grouping: deep(50), by: { $0 }).values.map(\.count).max() ?? 0
    #expect(twice >= 40)
  }

  @Test("THR-16: their symbols, as many, on every thread and in callbacks")
  func symbols() throws {
    #expect((1...128).contains(RunLoopThread.callStackSymbols.count))
    try onThread {
      let symbols = RunLoopThread.callStackSymbols
      #expect((1...128).contains(symbols.count) && symbols.allSatisfy { !$0.isEmpty })
      let loop = try RunLoop.current(), log = Log()
      try loop.post { RunLoopThread.callStackSymbols.forEach(log.add) }
      try loop.run(for: .zero, whenEmpty: true)
      #expect((2...128).contains(log.all.count) && log.all.allSatisfy { $0.contains("0x") })
    }
  }
}
