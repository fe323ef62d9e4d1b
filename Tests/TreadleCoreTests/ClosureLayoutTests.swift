// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleStubs
import Testing

@testable import TreadleCore
@testable import TreadleCalls

/// What two files say of the memory and the numbers of closures is the same.
@Suite("Layouts and numbers of closures")
struct ClosureLayoutTests {
  @Test("the core's call has the header's layout")
  func call() {
    #expect(MemoryLayout<CallRecord>.size == MemoryLayout<treadle_call>.size)
    #expect(MemoryLayout<CallRecord>.offset(of: \.closure) == MemoryLayout<treadle_call>.offset(of: \.closure))
    #expect(MemoryLayout<CallRecord>.offset(of: \.signature) == MemoryLayout<treadle_call>.offset(of: \.signature))
    #expect(MemoryLayout<CallRecord>.offset(of: \.loop) == MemoryLayout<treadle_call>.offset(of: \.loop))
    #expect(MemoryLayout<CallRecord>.offset(of: \.argumentCount) == MemoryLayout<treadle_call>.offset(of: \.argument_count))
    #expect(MemoryLayout<CallRecord>.offset(of: \.arguments) == MemoryLayout<treadle_call>.offset(of: \.arguments))
    #expect(MemoryLayout<CallRecord>.offset(of: \.result) == MemoryLayout<treadle_call>.offset(of: \.result))
  }

  @Test("stubs and their pool fit their memory")
  func stubs() {
    #expect(MemoryLayout<StubSlot>.size == Int(TREADLE_STUB_ROOM))
    #expect(MemoryLayout<StubPool.State>.size <= Int(TREADLE_STUB_POOL_ROOM))
    #expect(treadle_stub_slot(treadle_stub_count()) == nil && treadle_stub_code(treadle_stub_count()) == nil)
  }

  @Test("the numbers are the header's")
  func numbers() {
    #expect(Event.Kind.call == UInt32(TREADLE_EVENT_CALL))
    #expect(CarrierPlan.WhenFull.block.rawValue == UInt32(TREADLE_FULL_BLOCK))
    #expect(CarrierPlan.WhenFull.fail.rawValue == UInt32(TREADLE_FULL_FAIL))
    #expect(CarrierPlan.WhenFull.dropNewest.rawValue == UInt32(TREADLE_FULL_DROP_NEWEST))
    #expect(CarrierPlan.WhenFull.dropOldest.rawValue == UInt32(TREADLE_FULL_DROP_OLDEST))
    #expect(CarrierPlan.WhenFull.coalesce.rawValue == UInt32(TREADLE_FULL_COALESCE))
  }
}
