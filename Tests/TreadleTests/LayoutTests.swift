// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import Testing
import TreadleABI

#if canImport(Glibc)
  import Glibc
#endif

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
    #expect(MemoryLayout<Event>.offset(of: \.argument) == MemoryLayout<treadle_event>.offset(of: \.argument))
  }

  @Test("a signal of a flood looks at what the core means")
  func floods() {
    #expect(Item.floodMask == UInt32(TREADLE_SYSTEM_FLOOD_MASK))
    #expect(Item.isFlooded == UInt32(TREADLE_SYSTEM_FLOODED))
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
    let cell = memory.assumingMemoryBound(to: ItemCell.self)
    memory.storeBytes(of: 0x1234_5678, toByteOffset: Int(TREADLE_SYSTEM_FLAGS_OFFSET), as: UInt32.self)
    #expect(cell.pointee.flags.load(ordering: .relaxed) == 0x1234_5678)
    memory.storeBytes(of: 0xABCDEF << UInt64(TREADLE_SYSTEM_GENERATION_SHIFT), as: UInt64.self)
    #expect(cell.pointee.reference.generation == 0xABCDEF)
  }

  @Test("a signal that a source gives itself finds what the core means")
  func hands() throws {
    let loop = try Loop.current()
    #expect(MemoryLayout<LoopState>.size == Int(TREADLE_SYSTEM_HAND_OFFSET) + MemoryLayout<treadle_system_hand>.size)
    let clock = UnsafeMutableRawPointer(loop.state) + Int(TREADLE_SYSTEM_CLOCK_OFFSET)
    #expect(clock.load(as: UInt64.self) == loop.clock)
    loop.advanceClock()
    #expect(clock.load(as: UInt64.self) == loop.clock)
    let own = loop.hand.pointee.own_time
    loop.state.pointee.hand.own_time = own &+ 1
    #expect(loop.hand.pointee.own_time == own &+ 1)
    let source = try Item.source(code: nil, info: nil, options: ItemOptions())
    source.setSignalTime(0x1234)
    let time = UnsafeMutableRawPointer(source.cell) + Int(TREADLE_SYSTEM_SIGNAL_TIME_OFFSET)
    #expect(time.load(as: UInt64.self) == 0x1234)
    let signal = QueuedSignal(source)
    #expect(UnsafeMutableRawPointer(signal.cell) == UnsafeMutableRawPointer(source.cell))
    #expect(signal.mention.bits == Mention(source).bits)
    var queue = Buffer<QueuedSignal>()
    let isQueued = queue.append(signal)
    #expect(isQueued)
    withUnsafeBytes(of: &queue) { bytes in
      let seen = bytes.load(as: treadle_system_signals.self)
      #expect(seen.count == 1 && seen.capacity >= 1)
      #expect(seen.base?.pointee.handle == UInt64(signal.handle.bits) && seen.base?.pointee.place == UInt64(signal.place))
    }
    queue.free()
    try source.release("source")
  }

  @Test("every object fits its slot")
  func slots() {
    #expect(MemoryLayout<LoopState>.size <= Loop.lockOffset)
    #expect(Loop.lockOffset + LoopLock.size <= Slab(.loop).stride)
    #expect(MemoryLayout<ModeState>.size <= Slab(.mode).stride)
    #expect(MemoryLayout<ItemCell>.size == 40)
    #expect(40 + MemoryLayout<SourceCell>.size <= Slab(.source).stride)
    #expect(40 + MemoryLayout<DescriptorCell>.size <= Slab(.descriptor).stride)
    #expect(48 + MemoryLayout<TimerCell>.size <= Slab(.timer).stride)
    #expect(MemoryLayout<HostState>.size <= Slab(.host).stride)
    #expect(MemoryLayout<ThreadState>.size <= Thread.mutexOffset)
    #expect(Thread.mutexOffset + MemoryLayout<treadle_system_mutex>.size <= Slab(.thread).stride)
    // A reference, the flags that all slots have, the slot's number, and a lock's depth.
    let native = Int(TREADLE_SYSTEM_NATIVE_OFFSET)
    #expect(MemoryLayout<Reference>.size + 16 <= native)
    #expect(Int(TREADLE_SYSTEM_NATIVE_STRIDE) == Slab(.lock).stride)
    #expect(Int(TREADLE_SYSTEM_NATIVE_STRIDE) == Slab(.condition).stride)
    #expect(native + MemoryLayout<pthread_mutex_t>.size <= Slab(.lock).stride)
    #expect(native + MemoryLayout<pthread_cond_t>.size <= Slab(.condition).stride)
  }

  @Test("the words that the kernel and hosts look at lie where they are said to")
  func addresses() throws {
    let loop = try Loop.current()
    let sleeping = UnsafeMutableRawPointer(loop.state) + Loop.sleepingOffset
    loop.state.pointee.sleeping.store(0x5A5A, ordering: .relaxed)
    #expect(sleeping.load(as: UInt32.self) == 0x5A5A)
    loop.state.pointee.sleeping.store(Sleep.awake, ordering: .relaxed)

    let memory = UnsafeMutableRawPointer.allocate(byteCount: CarriedCall.size(room: 16), alignment: 16)
    defer { memory.deallocate() }
    let call = CarriedCall.make(in: memory, body: { _, _ in true }, end: { _, _ in }, free: { _, _ in }, abandon: { _ in })
    call.state.pointee.word.store(0x5A5A, ordering: .relaxed)
    #expect(call.wordAddress.load(as: UInt32.self) == 0x5A5A)
    call.state.pointee.node.sequence = 0x5A5A
    #expect(call.node.pointee.sequence == 0x5A5A)
    #expect(Int(bitPattern: call.room) % 16 == 0)
    #expect(CarriedCall.withRoom(call.room).state == call.state)
    call.release()

    let thread = try Thread.create(ThreadEntry(code: nil, info: nil, destroy: nil))
    let ready = UnsafeMutableRawPointer(thread.state) + Thread.readyOffset
    thread.state.pointee.ready.store(0x5A5A, ordering: .relaxed)
    #expect(ready.load(as: UInt32.self) == 0x5A5A)
    try thread.release()

    let lock = try ClientLock.create(isRecursive: false)
    #expect(Int(bitPattern: lock.native) % MemoryLayout<pthread_mutex_t>.alignment == 0)
    try lock.lock(timeout: 0)
    let mutex = lock.native.assumingMemoryBound(to: pthread_mutex_t.self)
    #expect(pthread_mutex_trylock(mutex) == EBUSY)
    try lock.unlock()
    #expect(pthread_mutex_trylock(mutex) == 0)
    #expect(pthread_mutex_unlock(mutex) == 0)
    try lock.release()
    let condition = try ClientCondition.create()
    #expect(Int(bitPattern: condition.native) % MemoryLayout<pthread_cond_t>.alignment == 0)
    #expect(pthread_cond_signal(condition.native.assumingMemoryBound(to: pthread_cond_t.self)) == 0)
    try condition.release()

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
    #expect(Status.cancelled == Int32(TREADLE_E_CANCELLED))
    #expect(CarriedCall.Phase.queued == UInt32(TREADLE_INVOCATION_QUEUED))
    #expect(CarriedCall.Phase.running == UInt32(TREADLE_INVOCATION_RUNNING))
    #expect(CarriedCall.Phase.done == UInt32(TREADLE_INVOCATION_DONE))
    #expect(CarriedCall.Phase.cancelled == UInt32(TREADLE_INVOCATION_CANCELLED))
    #expect(CarriedCall.Phase.dropped == UInt32(TREADLE_INVOCATION_DROPPED))
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
    #expect(Event.Kind.schedule == UInt32(TREADLE_EVENT_SCHEDULE) && Event.Kind.cancel == UInt32(TREADLE_EVENT_CANCEL))
    #expect(Event.Kind.timer == UInt32(TREADLE_EVENT_TIMER) && Event.Kind.observer == UInt32(TREADLE_EVENT_OBSERVER))
    #expect(Event.Kind.descriptor == UInt32(TREADLE_EVENT_DESCRIPTOR))
    #expect(Event.Kind.request == UInt32(TREADLE_EVENT_REQUEST) && Event.Kind.thread == UInt32(TREADLE_EVENT_THREAD))
    #expect(Event.Kind.notification == UInt32(TREADLE_EVENT_NOTIFICATION))
    #expect(Event.Kind.release == UInt32(TREADLE_EVENT_RELEASE))
    #expect(Notifications.willBecomeMultiThreaded == UInt32(TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED))
    #expect(Notifications.threadWillExit == UInt32(TREADLE_NOTIFY_THREAD_WILL_EXIT))
    #expect(RunLoopNotification.Name.willBecomeMultiThreaded.rawValue == Notifications.willBecomeMultiThreaded)
    #expect(RunLoopNotification.Name.threadWillExit.rawValue == Notifications.threadWillExit)
    #expect(Thread.Phase.created == UInt32(TREADLE_THREAD_CREATED))
    #expect(Thread.Phase.starting == UInt32(TREADLE_THREAD_STARTING))
    #expect(Thread.Phase.executing == UInt32(TREADLE_THREAD_EXECUTING))
    #expect(Thread.Phase.finished == UInt32(TREADLE_THREAD_FINISHED))
    #expect(RunLoopThread.Policy.default.rawValue == UInt32(TREADLE_POLICY_DEFAULT))
    #expect(RunLoopThread.Policy.fifo.rawValue == UInt32(TREADLE_POLICY_FIFO))
    #expect(RunLoopThread.Policy.roundRobin.rawValue == UInt32(TREADLE_POLICY_ROUND_ROBIN))
    #expect(
      String(cString: treadle_version_string()!)
        == "\(TREADLE_VERSION_MAJOR).\(TREADLE_VERSION_MINOR).\(TREADLE_VERSION_PATCH)")
  }
}
