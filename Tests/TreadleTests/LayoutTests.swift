// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import Testing
import TreadleABI

@testable import Treadle
@testable import TreadleBase

/// What two files say of the same memory or the same number is the same.
@Suite("Layouts and numbers")
struct LayoutTests {
  @Test("the core's event has the header's layout")
  func event() {
    #expect(MemoryLayout<Event>.size == MemoryLayout<treadle_event>.size)
    #expect(MemoryLayout<Event>.offset(of: \.kind) == MemoryLayout<treadle_event>.offset(of: \.kind))
    #expect(MemoryLayout<Event>.offset(of: \.value) == MemoryLayout<treadle_event>.offset(of: \.value))
    #expect(MemoryLayout<Event>.offset(of: \.token) == MemoryLayout<treadle_event>.offset(of: \.token))
    #expect(MemoryLayout<Event>.offset(of: \.loop) == MemoryLayout<treadle_event>.offset(of: \.loop))
    #expect(MemoryLayout<Event>.offset(of: \.subject) == MemoryLayout<treadle_event>.offset(of: \.subject))
    #expect(MemoryLayout<Event>.offset(of: \.mode) == MemoryLayout<treadle_event>.offset(of: \.mode))
    #expect(MemoryLayout<Event>.offset(of: \.late) == MemoryLayout<treadle_event>.offset(of: \.late_ns))
    #expect(MemoryLayout<Event>.offset(of: \.descriptor) == MemoryLayout<treadle_event>.offset(of: \.descriptor))
  }

  @Test("every object fits its slot")
  func slots() {
    #expect(MemoryLayout<LoopState>.size <= Loop.mutexOffset)
    #expect(Loop.mutexOffset + MemoryLayout<treadle_system_mutex>.size <= Slab(.loop).stride)
    #expect(MemoryLayout<ModeState>.size <= Slab(.mode).stride)
    #expect(MemoryLayout<ItemCell>.size == 48)
    #expect(48 + MemoryLayout<SourceCell>.size <= Slab(.source).stride)
    #expect(48 + MemoryLayout<DescriptorCell>.size <= Slab(.descriptor).stride)
    #expect(48 + MemoryLayout<TimerCell>.size <= Slab(.timer).stride)
    #expect(MemoryLayout<HostState>.size <= Slab(.host).stride)
  }

  @Test("the words that the kernel and hosts look at lie where they are said to")
  func addresses() throws {
    let loop = try Loop.current()
    let sleeping = UnsafeMutableRawPointer(loop.state) + Loop.sleepingOffset
    loop.state.pointee.sleeping.store(0x5A5A, ordering: .relaxed)
    #expect(sleeping.load(as: UInt32.self) == 0x5A5A)
    loop.state.pointee.sleeping.store(Sleep.awake, ordering: .relaxed)

    let host = try Host.register(dispatch: { ticket, _ in ticket }, enter: nil, exit: nil, user: nil)
    host.state.pointee.retiredCount.store(42, ordering: .relaxed)
    #expect(host.retiredCountAddress.pointee == 42)
    host.state.pointee.retiredCount.store(0, ordering: .relaxed)
  }

  @Test("statuses, results, activities and flags are the header's")
  func numbers() {
    #expect(Status.ok == Int32(TREADLE_OK) && Status.ignored == Int32(TREADLE_IGNORED))
    #expect(Status.finished == Int32(TREADLE_RUN_FINISHED) && Status.stopped == Int32(TREADLE_RUN_STOPPED))
    #expect(Status.timedOut == Int32(TREADLE_RUN_TIMED_OUT))
    #expect(Status.handledSource == Int32(TREADLE_RUN_HANDLED_SOURCE))
    #expect(Status.interrupted == Int32(TREADLE_RUN_INTERRUPTED))
    #expect(Status.argument == Int32(TREADLE_E_ARG) && Status.stale == Int32(TREADLE_E_STALE))
    #expect(Status.kind == Int32(TREADLE_E_KIND) && Status.noMemory == Int32(TREADLE_E_NOMEM))
    #expect(Status.state == Int32(TREADLE_E_STATE) && Status.exists == Int32(TREADLE_E_EXISTS))
    #expect(Status.notFound == Int32(TREADLE_E_NOT_FOUND) && Status.wrongThread == Int32(TREADLE_E_WRONG_THREAD))
    #expect(Status.deadlock == Int32(TREADLE_E_DEADLOCK) && Status.timeout == Int32(TREADLE_E_TIMEOUT))
    #expect(Status.forked == Int32(TREADLE_E_FORKED) && Status.tooNew == Int32(TREADLE_E_TOO_NEW))
    #expect(Status.system == Int32(TREADLE_E_SYSTEM) && Status.callback == Int32(TREADLE_E_CALLBACK))
    #expect(Status.closed == Int32(TREADLE_E_CLOSED) && Status.range == Int32(TREADLE_E_RANGE))
    #expect(Status.signature == Int32(TREADLE_E_SIGNATURE))
    #expect(Status.notSupported == Int32(TREADLE_E_NOT_SUPPORTED))
    #expect(Activity.entry == UInt32(TREADLE_ENTRY) && Activity.exit == UInt32(TREADLE_EXIT))
    #expect(Activity.beforeTimers == UInt32(TREADLE_BEFORE_TIMERS))
    #expect(Activity.beforeSources == UInt32(TREADLE_BEFORE_SOURCES))
    #expect(Activity.beforeWaiting == UInt32(TREADLE_BEFORE_WAITING))
    #expect(Activity.afterWaiting == UInt32(TREADLE_AFTER_WAITING))
    #expect(Activity.all == UInt32(TREADLE_ALL_ACTIVITIES))
    #expect(Readiness.readable == UInt32(TREADLE_READABLE) && Readiness.writable == UInt32(TREADLE_WRITABLE))
    #expect(Readiness.hangup == UInt32(TREADLE_HANGUP) && Readiness.failed == UInt32(TREADLE_FAILED))
    #expect(Frame.Flag.returnAfterSource == UInt32(TREADLE_RUN_RETURN_AFTER_SOURCE))
    #expect(Frame.Flag.returnOnInterrupt == UInt32(TREADLE_RUN_RETURN_ON_INTERRUPT))
    #expect(Event.Kind.perform == UInt32(TREADLE_EVENT_PERFORM) && Event.Kind.block == UInt32(TREADLE_EVENT_BLOCK))
    #expect(
      String(cString: treadle_version_string()!)
        == "\(TREADLE_VERSION_MAJOR).\(TREADLE_VERSION_MINOR).\(TREADLE_VERSION_PATCH)")
  }
}
