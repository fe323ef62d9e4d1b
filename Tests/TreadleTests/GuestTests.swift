// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import TestSupport
import Treadle

/// A loop that another loop runs on the same thread.
@Suite("Guest")
struct GuestTests {
  @Test("ABI-13: a dispatch stops where its budget does, and the next one continues there")
  func budget() throws {
    try onThread {
      let loop = try RunLoop.current()
      let log = Log()
      #expect(try loop.prepare() == .distantFuture)
      #expect(try loop.dispatch() == .timedOut)
      let date = RunLoopInstant.now + .seconds(3600)
      let timer = try RunLoopTimer(at: date) { _ in }
      try loop.add(timer)
      #expect(try loop.prepare() == timer.nextFire)
      let earlier = RunLoopInstant.now + .seconds(1800)
      let observer = try RunLoopObserver(of: .prepare) { _, activity in
        #expect(activity == .prepare)
        timer.nextFire = earlier
      }
      try loop.add(observer)
      #expect(try loop.prepare() == earlier)
      observer.invalidate()
      for number in 0..<5 { try loop.post { log.add("\(number)") } }
      #expect(try loop.prepare() <= .now)
      #expect(try loop.dispatch(callbacks: 2) == nil && log.all == ["0", "1"])
      #expect(try loop.dispatch(for: .zero) == nil && log.all == ["0", "1", "2"])
      #expect(try loop.dispatch(for: .seconds(600)) == .timedOut && log.all.count == 5)
      #expect(throws: TreadleError.self) { try loop.prepare(in: .common) }
      #expect(throws: TreadleError.self) { try loop.dispatch(in: .common) }
      timer.invalidate()
    }
  }
}
