// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing

@testable import TreadleCore
@testable import TreadleBase

/// Each invariant of a loop, broken by hand and mended again: `brokenInvariant` says which one it is.
@Suite("The invariants of a loop", .serialized)
struct InvariantsTests {
  private let loop: Loop
  private let mode: Mode

  init() throws {
    loop = try Loop.current()
    let (loop, name) = (loop, "invariants")
    mode = try name.withCString { name in
      try loop.withLock { () throws(Failure) in try loop.findOrMakeMode(ModeName(name)) }
    }
  }

  private func queue() throws -> UnsafeMutablePointer<TimerQueue> {
    let queue = mode.state.queue
    return try #require(queue)
  }

  private func broken() -> String? { loop.brokenInvariant().map { "\($0)" } }

  /// Changes a value, has the loop checked, and changes it back.
  private func expect<Value>(
    _ text: String, _ value: Value, at place: UnsafeMutablePointer<Value>, location: SourceLocation = #_sourceLocation
  ) {
    #expect(broken() == nil, sourceLocation: location)
    let old = place.pointee
    place.pointee = value
    let found = broken()
    place.pointee = old
    #expect(found == text, sourceLocation: location)
    #expect(broken() == nil, sourceLocation: location)
  }

  private func expect(
    _ text: String, location: SourceLocation = #_sourceLocation, breaking: () -> Void, mending: () -> Void
  ) {
    #expect(broken() == nil, sourceLocation: location)
    breaking()
    let found = broken()
    mending()
    #expect(found == text, sourceLocation: location)
    #expect(broken() == nil, sourceLocation: location)
  }

  private func makeTimer(date: Int64, tolerance: Int64 = 0) throws -> Item {
    let timer = try Item.timer(
      code: nil, info: nil, context: Context(), date: date, interval: 0, tolerance: tolerance, ends: true)
    return try added(timer)
  }

  private func makeSource() throws -> Item { try added(Item.source(code: nil, info: nil, context: Context())) }

  private func added(_ item: Item) throws -> Item {
    _ = try "invariants".withCString { try loop.add(item, ModeName($0)) }
    return item
  }

  private func end(_ items: Item...) throws {
    for item in items {
      _ = loop.leave(item, mode)
      try Item.release(item.kind, item.handle.bits, "item")
    }
  }

  @Test("behind the outermost run no run is left")
  func runs() throws {
    expect("the depth of runs is 0 behind the outermost run") {
      loop.state.depth.store(1, ordering: .relaxed)
    } mending: {
      loop.state.depth.store(0, ordering: .relaxed)
    }
    expect("no mode is current behind the outermost run") {
      loop.state.currentMode.store(mode.slot, ordering: .relaxed)
    } mending: {
      loop.state.currentMode.store(0, ordering: .relaxed)
    }
    expect("no run has a mode behind the outermost run", 1, at: withUnsafeMutablePointer(to: &mode.state.runs) { $0 })
  }

  @Test("the modes of a loop are its own, are found by their names, and the common ones are linked")
  func modes() throws {
    let standard = try #require(loop.defaultMode)
    func setCommon(_ mode: Mode, _ isCommon: Bool) { mode.state.isCommon.store(isCommon, ordering: .relaxed) }
    expect(
      "a loop has its record of common items",
      standard.slot, at: withUnsafeMutablePointer(to: &loop.state.commonRecord) { $0 })
    expect("the default mode is one of the common modes") {
      setCommon(standard, false)
    } mending: {
      setCommon(standard, true)
    }
    expect("each common mode is in the list of common modes") {
      setCommon(mode, true)
    } mending: {
      setCommon(mode, false)
    }
    expect(
      "the list of common modes has the common modes",
      mode.slot, at: withUnsafeMutablePointer(to: &standard.state.nextCommon) { $0 })
    expect(
      "a mode is found by its name", mode.state.hash ^ 1, at: withUnsafeMutablePointer(to: &mode.state.hash) { $0 })
    expect("the modes of a loop are the loop's") {
      mode.state.loop.store(nil, ordering: .relaxed)
    } mending: {
      mode.state.loop.store(loop.address, ordering: .relaxed)
    }
    let record = try #require(loop.record)
    let timer = try makeTimer(date: Clock.now() + 50_000_000_000)
    record.state.earliest.store(0, ordering: .relaxed)
    expect(
      "the record of common items has no queue of timers",
      mode.state.queue, at: withUnsafeMutablePointer(to: &record.state.queue) { $0 })
    record.state.earliest.store(Clock.forever, ordering: .relaxed)
    try end(timer)
    let first = try #require(loop.state.modes[0])
    expect("the default mode is one of the loop's modes") {
      loop.state.modes.set(0, mode.slot)
    } mending: {
      loop.state.modes.set(0, first)
    }
  }

  @Test("the members of a mode are linked in both directions, and counted")
  func members() throws {
    let (one, two) = (try makeSource(), try makeSource())
    expect(
      "a member is behind the member before it", two.slot, at: withUnsafeMutablePointer(to: &one.cell.previous) { $0 })
    expect(
      "the last member is the end of its list",
      one.slot, at: withUnsafeMutablePointer(to: &mode.state.sources.last) { $0 })
    expect("a list of a mode has members of the mode") {
      two.cell.membership.store(0, ordering: .relaxed)
    } mending: {
      two.cell.membership.store(mode.slot, ordering: .relaxed)
    }
    expect("the content of a mode is the number of its members") {
      mode.state.content.add(1, ordering: .relaxed)
    } mending: {
      mode.state.content.subtract(1, ordering: .relaxed)
    }
    try end(one, two)
  }

  @Test("TMR-11: timers know their places, which are in the order of their dates")
  func timers() throws {
    let now = Clock.now()
    let far = try makeTimer(date: now + 50_000_000_000)
    // Past, so they come to the current slot of the wheel, whichever that is.
    let near = [try makeTimer(date: 2), try makeTimer(date: 3)]
    let tolerant = try makeTimer(date: now + 10, tolerance: 1_000)
    let place = withUnsafeMutablePointer(to: &far.due.place) { $0 }
    expect("a timer knows its slot of the wheel", place.pointee &+ 1, at: place)
    expect(
      "a timer is behind the timer before it",
      near[0].slot, at: withUnsafeMutablePointer(to: &far.cell.previous) { $0 })
    expect("the heap of a timer wheel is in order", 1, at: withUnsafeMutablePointer(to: &near[0].due.date) { $0 })
    expect(
      "a timer with a tolerance knows its place in an ordered heap",
      7, at: withUnsafeMutablePointer(to: &tolerant.due.latest) { $0 })
    expect(
      "a timer with a tolerance knows its place in an ordered heap",
      now, at: withUnsafeMutablePointer(to: &tolerant.due.date) { $0 })
    let earliest = mode.state.earliest.load(ordering: .relaxed)
    expect("no timer is due before the earliest date of its mode") {
      mode.state.earliest.store(Clock.forever, ordering: .relaxed)
    } mending: {
      mode.state.earliest.store(earliest, ordering: .relaxed)
    }
    let queue = try self.queue()
    expect("a timer with a tolerance is in both heaps") {
      queue.pointee.latest.remove(at: 0) { _, _ in }
    } mending: {
      let entry = TimerHeap.Entry(key: now + 1_010, sequence: tolerant.due.sequence, slot: tolerant.slot)
      _ = queue.pointee.latest.insert(entry) { _, _ in }
    }
    expect(
      "a timer that is set aside knows it",
      far.slot, at: withUnsafeMutablePointer(to: &queue.pointee.asideFirst) { $0 })
    try end(far, near[0], near[1], tolerant)
  }

  @Test("TMR-11: the wheel counts its timers, marks the slots that have any, and serves one slot in order")
  func wheel() throws {
    let date = Clock.now() + 5_000_000_000
    // Of five timers two are in one chain of their slot of the wheel.
    let timers = try (0..<5).map { _ in try makeTimer(date: date) }
    let first = try #require(timers.last { $0.cell.next != 0 })
    expect("the wheel has as many timers as it counts", 0, at: withUnsafeMutablePointer(to: &first.cell.next) { $0 })
    let queue = try self.queue()
    let place = Int(first.due.place &- TimerCell.Place.wheel)
    expect("a slot of the wheel that has timers is marked as used", 0, at: queue.pointee.wheel.used + place / 64)
    loop.lock()
    let isServed = queue.pointee.firstDate() == date
    loop.unlock()
    #expect(isServed && first.due.place == TimerCell.Place.run)
    expect("the run of a timer wheel is in order", date - 1, at: withUnsafeMutablePointer(to: &first.due.date) { $0 })
    for timer in timers { try end(timer) }
  }

  @Test("OBJ-11: the free slots of a loop's thread are as many as it counts, and a batch of them is full")
  func ownSlots() throws {
    // So many sources at a time that there is a batch of free slots when they are gone, and a chain besides, also of
    // what one more source leaves of it.
    for source in try (0..<Int(OwnSlots.most) + 3).map({ _ in try makeSource() }) { try end(source) }
    let own = OwnSlots.of(Kind.source.rawValue, loop: UnsafeMutableRawPointer(loop.address))
    let slab = Slab(.source)
    func free(_ slot: UInt32) throws -> UnsafeMutablePointer<Slab.FreeSlot> {
      Slab.freeSlot(try #require(slab.memory(slot)))
    }
    #expect(own.pointee.first != 0 && own.pointee.batch != 0 && own.pointee.count <= OwnSlots.most)
    let (chain, batch) = (
      "the chain of free slots has as many as are counted" as String, "a batch of free slots is a full chain" as String
    )
    let (first, ofBatch) = (try free(own.pointee.first), try free(own.pointee.batch))
    expect(chain, own.pointee.count &+ 1, at: withUnsafeMutablePointer(to: &own.pointee.count) { $0 })
    expect(chain, 0, at: withUnsafeMutablePointer(to: &own.pointee.first) { $0 })
    expect(chain, UInt32.max, at: withUnsafeMutablePointer(to: &own.pointee.first) { $0 })
    // What the chain has is in the batch as well, or a slot names itself: then two objects would be in one place.
    expect(chain, own.pointee.batch, at: withUnsafeMutablePointer(to: &first.pointee.next) { $0 })
    expect(chain, own.pointee.first, at: withUnsafeMutablePointer(to: &first.pointee.next) { $0 })
    expect(batch, 0, at: withUnsafeMutablePointer(to: &ofBatch.pointee.next) { $0 })
    expect(batch, own.pointee.batch, at: withUnsafeMutablePointer(to: &ofBatch.pointee.next) { $0 })
    // A slot was given back whose object has not ended.
    let live = try makeSource()
    let last = try free(own.pointee.first)
    expect("a free slot has no object", live.slot, at: withUnsafeMutablePointer(to: &last.pointee.next) { $0 })
    expect("a free slot has no object", live.slot, at: withUnsafeMutablePointer(to: &own.pointee.batch) { $0 })
    try end(live)
  }

  @Test("a run at whose end an invariant is broken ends the program")
  func death() async throws {
    await #expect(processExitsWith: .failure) {
      let loop = try Loop.current()
      loop.defaultMode?.state.content.add(1, ordering: .relaxed)
      _ = try loop.runOwn(CommonModes.defaultName, timeout: 0, flags: 0, interrupt: nil)
    }
    await #expect(processExitsWith: .failure) {
      let loop = try Loop.current()
      _ = try loop.add(Item.source(code: nil, info: nil, context: Context()), CommonModes.defaultName)
      OwnSlots.of(Kind.timer.rawValue, loop: UnsafeMutableRawPointer(loop.address)).pointee.count &+= 1
      _ = try loop.runOwn(CommonModes.defaultName, timeout: 0, flags: 0, interrupt: nil)
    }
    await #expect(processExitsWith: .success) {
      let loop = try Loop.current()
      let source = try Item.source(code: nil, info: nil, context: Context())
      _ = try loop.add(source, CommonModes.defaultName)
      _ = try loop.runOwn(CommonModes.defaultName, timeout: 0, flags: 0, interrupt: nil)
    }
  }

  @Test("what is queued is pending, and signals are counted")
  func queues() throws {
    let source = try makeSource()
    expect("the count of signals is that of the queue of signals") {
      mode.state.signalledCount.store(1, ordering: .relaxed)
    } mending: {
      mode.state.signalledCount.store(0, ordering: .relaxed)
    }
    let hasRoom = loop.state.incoming.reserve(16)
    #expect(hasRoom)
    expect("posts that are queued are pending") {
      _ = loop.state.incoming.appendInRoom(Entry(first: 0, second: 0))
    } mending: {
      loop.state.incoming.removeAll()
    }
    let job = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<Job>.size, alignment: 16)
    defer { job.deallocate() }
    job.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<Job>.size)
    let queued = job.assumingMemoryBound(to: Job.self)
    expect(
      "jobs that are queued are pending", queued, at: withUnsafeMutablePointer(to: &loop.state.firstIncomingJob) { $0 })
    expect("a job is behind the job before it") {
      queued.pointee.previous = queued
      loop.state.firstJob = queued
    } mending: {
      queued.pointee.previous = nil
      loop.state.firstJob = nil
    }
    expect(
      "the last job is the end of the list of jobs",
      queued, at: withUnsafeMutablePointer(to: &loop.state.firstJob) { $0 })
    try end(source)
  }
}
