// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import struct Synchronization.Atomic
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@testable import TreadleCore
@testable import TreadleBase

/// What is said of memory in two places is the same, and what comments say of it is so.
@Suite("Layouts")
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

  // MARK: Slots

  @Test("every object fits its slot, and slots of items are as large as they have to be")
  func slots() {
    #expect(Slab(.loop).fits(MemoryLayout<LoopState>.size))
    #expect(Slab(.mode).fits(MemoryLayout<ModeState>.size))
    #expect(Slab(.thread).fits(MemoryLayout<ThreadState>.size))
    #expect(Slab(.host).fits(MemoryLayout<HostState>.size))
    #expect(MemoryLayout<ItemCell>.size == 40)
    #expect(MemoryLayout<SourceCell>.size == Slab(.source).stride)
    #expect(MemoryLayout<DescriptorCell>.size == Slab(.descriptor).stride)
    #expect(Slab(.observer).fits(MemoryLayout<ItemCell>.size))
    #expect(MemoryLayout<TimerCell>.size <= 64 && Slab(.timer).stride == 64)
    let native = Int(TREADLE_SYSTEM_NATIVE_OFFSET)
    #expect(Slab(.lock).stride == Int(TREADLE_SYSTEM_NATIVE_STRIDE) && Slab(.condition).stride == Int(TREADLE_SYSTEM_NATIVE_STRIDE))
    #expect(Slab(.lock).fits(native + MemoryLayout<pthread_mutex_t>.size))
    #expect(Slab(.condition).fits(native + MemoryLayout<pthread_cond_t>.size))
    for kind in Kind.all.compactMap(Kind.init) { #expect(Slab(kind).stride % MemoryLayout<Reference>.alignment == 0) }
    // Whatever the words of these are, a slot begins with its reference.
    #expect(MemoryLayout<Reference>.size == 8 && MemoryLayout<Mention>.size == 8 && MemoryLayout<Entry>.size == 16)
  }

  @Test("C has the room that Swift lays its own structs over")
  func rooms() {
    #expect(MemoryLayout<Mutex>.size <= MemoryLayout<treadle_system_mutex>.size)
    #expect(MemoryLayout<Mutex>.alignment <= MemoryLayout<treadle_system_mutex>.alignment)
    #expect(LockRank.gate.rawValue == UInt32(TREADLE_SYSTEM_GATE_RANK))
    #expect(Kind.all.upperBound < UInt32(TREADLE_SYSTEM_KINDS) && UInt(TREADLE_SYSTEM_KINDS) == 32)
    #expect(MemoryLayout<UInt32>.size == MemoryLayout<Completion>.size)
  }

  @Test("each part of an item lies behind its cell, where its accessor says")
  func items() throws {
    let source = try Item.source(code: nil, info: nil, context: Context())
    let descriptor = try Item.descriptor(code: nil, info: nil, number: STDERR_FILENO, events: 0, isAcknowledged: false)
    let timer = try Item.timer(code: nil, info: nil, date: 0x1234)
    let observer = try Item.observer(code: nil, info: nil, context: Context(), activities: 1, once: false)
    #expect(withUnsafePointer(to: &source.source) { offset(of: $0, in: UnsafePointer(source.address)) } == 0)
    #expect(withUnsafePointer(to: &descriptor.watched) { offset(of: $0, in: UnsafePointer(descriptor.address)) } == 40)
    #expect(withUnsafePointer(to: &timer.due) { offset(of: $0, in: UnsafePointer(timer.address)) } == 40)
    source.setSignalTime(0x1234)
    #expect(UnsafeRawPointer(source.address).load(fromByteOffset: 40, as: UInt64.self) == 0x1234)
    #expect(UnsafeRawPointer(timer.address).load(fromByteOffset: 40, as: UInt64.self) == 0x1234)
    for item in [source, descriptor, timer, observer] {
      let bits = item.handle.bits
      #expect(UnsafeRawPointer(item.address).load(as: UInt64.self) >> 40 == UInt64(item.generation))
      #expect(Slab(item.kind).find(item.handle) == UnsafeMutableRawPointer(item.address))
      #expect(item.handle.slot == item.slot && item.handle.tag == item.tag && item.sibling(item.slot)?.address == item.address)
      #expect(Item(item.kind, slot: item.slot)?.tag == item.tag && Item(tag: item.tag)?.address == item.address)
      let mention = Mention(item)
      #expect(mention.slot == item.slot && mention.generation == item.generation && mention.means(item))
      item.cell.joins.add(1, ordering: .relaxed)
      #expect(!mention.means(item) && Mention(item).means(item))
      try Item.release(item.kind, bits, "item")
      #expect(!Mention(item).means(item) || item.generation != mention.generation)
    }
  }

  // MARK: Cache lines

  /// Where a part of an object lies in it.
  private func offset<Part: ~Copyable, Whole: ~Copyable>(of part: UnsafePointer<Part>, in whole: UnsafePointer<Whole>) -> Int {
    UnsafeRawPointer(part) - UnsafeRawPointer(whole)
  }

  @Test("slots of loops, modes and timers begin with cache lines")
  func lines() throws {
    let loop = try Loop.current()
    let mode = try #require(loop.defaultMode)
    let timer = try Item.timer(code: nil, info: nil, date: 0)
    for address in [UnsafeRawPointer(loop.address), UnsafeRawPointer(mode.address), UnsafeRawPointer(timer.address)] {
      #expect(UInt(bitPattern: address) % 64 == 0)
    }
    for kind in [Kind.loop, .mode, .thread, .host, .timer] { #expect(Slab(kind).stride % 64 == 0) }
    try Item.release(.timer, timer.handle.bits, "timer")
    for number in 0..<UInt32(TREADLE_SYSTEM_ITEM_LOCKS) {
      #expect(UInt(bitPattern: treadle_system_item_lock(number)) % 64 == 0)
    }
  }

  @Test("what callers from other threads write of a loop is one line, what they need besides the next")
  func loopLines() throws {
    let loop = try Loop.current()
    let whole = UnsafePointer(loop.address)
    var offsets: [Int] = []
    withUnsafePointer(to: loop.state.gate) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.pending) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.sleeping) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.wakePending) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.clock) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: &loop.state.incoming) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: &loop.state.firstIncomingJob) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.callers) { offsets.append(offset(of: $0, in: whole)) }
    let line = offsets[0] / 64
    #expect(offsets[0] % 64 == 0 && offsets == offsets.sorted() && offsets.allSatisfy { $0 / 64 == line })
    #expect(offsets[7] + MemoryLayout<AdaptiveSpin>.size <= 64 * (line + 1))
    offsets = []
    withUnsafePointer(to: &loop.state.lastIncomingJob) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: &loop.state.jobCount) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: &loop.state.isCalledFromOutside) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.kicking) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.answers) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: loop.state.callMode) { offsets.append(offset(of: $0, in: whole)) }
    #expect(offsets[0] == 64 * (line + 1) && offsets.allSatisfy { $0 / 64 == line + 1 })
    let owner = withUnsafePointer(to: loop.state.loopLock) { offset(of: $0, in: whole) }
    #expect(owner == 64 * (line + 2))
  }

  @Test("what signals from other threads write of a mode is one line")
  func modeLine() throws {
    let mode = try #require(try Loop.current().defaultMode)
    let whole = UnsafePointer(mode.address)
    var offsets: [Int] = []
    withUnsafePointer(to: &mode.state.signalled) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: mode.state.signalledCount) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: &mode.state.signalsAreMixed) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: &mode.state.queue) { offsets.append(offset(of: $0, in: whole)) }
    withUnsafePointer(to: mode.state.hasScattered) { offsets.append(offset(of: $0, in: whole)) }
    #expect(offsets[0] % 64 == 0 && offsets.allSatisfy { $0 / 64 == offsets[0] / 64 })
    let owner = withUnsafePointer(to: &mode.state.ownSignals) { offset(of: $0, in: whole) }
    #expect(owner == offsets[0] + 64)
  }

  @Test("a waiter looks at a line that nobody writes but the one who ends the wait")
  func waiterLine() {
    var waiter = Waiter()
    withUnsafeMutablePointer(to: &waiter) { waiter in
      let whole = UnsafePointer(waiter)
      #expect(withUnsafePointer(to: waiter.pointee.completion) { offset(of: $0, in: whole) } == 0)
      #expect(withUnsafePointer(to: &waiter.pointee.edge) { offset(of: $0, in: whole) } >= 64)
    }
  }

  // MARK: Words at addresses

  @Test("the words that the kernel and hosts look at lie where they are said to")
  func addresses() throws {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: CarriedCall.size(room: 16), alignment: 16)
    defer { memory.deallocate() }
    let call = CarriedCall.make(in: memory, body: { _, _ in true }, end: { _, _ in }, free: { _, _ in }, abandon: { _ in })
    call.state.job.sequence = 0x5A5A
    #expect(call.job.pointee.sequence == 0x5A5A && UnsafeMutableRawPointer(call.job) == UnsafeMutableRawPointer(call.address))
    #expect(Int(bitPattern: call.room) % 16 == 0 && call.room + 16 == memory + CarriedCall.size(room: 16))
    #expect(CarriedCall.withRoom(call.room).address == call.address)
    call.release()

    let lock = try ClientLock.create(isRecursive: false)
    #expect(Int(bitPattern: lock.native) % MemoryLayout<pthread_mutex_t>.alignment == 0)
    try lock.lock(timeout: 0)
    let mutex = lock.native.assumingMemoryBound(to: pthread_mutex_t.self)
    #expect(pthread_mutex_trylock(mutex) == EBUSY)
    try lock.unlock()
    #expect(pthread_mutex_trylock(mutex) == 0)
    #expect(pthread_mutex_unlock(mutex) == 0)
    try ClientLock.release(lock.handle.bits)
    let condition = try ClientCondition.create()
    #expect(Int(bitPattern: condition.native) % MemoryLayout<pthread_cond_t>.alignment == 0)
    #expect(pthread_cond_signal(condition.native.assumingMemoryBound(to: pthread_cond_t.self)) == 0)
    try ClientCondition.release(condition.handle.bits)

    let host = try Host.register(dispatch: { ticket, _ in ~ticket }, enter: nil, exit: nil, user: nil)
    host.state.retiredCount.store(42, ordering: .relaxed)
    #expect(host.retiredCountAddress.pointee == 42)
    host.state.retiredCount.store(0, ordering: .relaxed)
  }
}
