// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// A label of an item, cut to what there is room for.
package struct TraceName: BitwiseCopyable {
  package let item: UInt
  package var text: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
}

/// The events of one thread: a thin handle. Its memory is never freed; a ring whose thread has ended serves another one
/// in a later trace, or where there are too many in the same.
package struct TraceRing {
  private struct Head: ~Copyable {
    /// The next of all rings. Constant once it is in the list.
    let next: Atomic<UInt>
    /// Of which trace its events are.
    let session: Atomic<UInt32>
    /// Whether its thread has ended, and in which trace (`State`).
    let state: Atomic<UInt64>
    let thread: Atomic<Int32>
    /// How many events were ever recorded, and how many before this trace.
    let count: Atomic<UInt64>
    let first: Atomic<UInt64>
    /// When a callback returned, and how many events there were then: another begins at the same moment if there are no
    /// more. Owner.
    var lastEnd: Int64
    var lastCount: UInt64
    /// Guards the names.
    let gate: Gate
    var names: Buffer<TraceName>
    var kernelName: (UInt64, UInt64)
  }
  private enum State {
    static let inUse: UInt64 = 1
    private static let ended: UInt64 = 2

    static func ended(in session: UInt32) -> UInt64 { UInt64(session) << 2 | ended }
    static func isEnded(_ state: UInt64) -> Bool { state & ended != 0 }
  }

  /// How many events a ring keeps, how many rings there are at most, and how many labels a ring knows.
  package static let capacity: UInt64 = 8192
  private static let mostRings: UInt32 = 128
  private static let mostNames = 4096

  private static let wordsOfEvent = 4
  private static let seenCount = 256
  private static var headSize: Int { (MemoryLayout<Head>.size &+ 63) & ~63 }
  private static var size: Int { headSize &+ (seenCount &+ Int(capacity) &* wordsOfEvent) &* 8 }

  /// The second word of a callback: what it is, its kind, and how long it took, in the bits from here on; all of these
  /// are set while it has not returned.
  private static let durationShift: UInt64 = 16
  private static let longest: UInt64 = 0xFFFF_FFFF_FFFF

  private let memory: UnsafeMutableRawPointer
  init(_ memory: UnsafeMutableRawPointer) { self.memory = memory }
  private var head: UnsafeMutablePointer<Head> { memory.assumingMemoryBound(to: Head.self) }
  private var seen: UnsafeMutablePointer<UInt> { (memory + TraceRing.headSize).assumingMemoryBound(to: UInt.self) }
  private func words(_ index: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
    let place = TraceRing.seenCount &+ Int(index % TraceRing.capacity) &* TraceRing.wordsOfEvent
    return (memory + TraceRing.headSize + place &* 8).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  // MARK: The calling thread's

  /// The calling thread's ring for the trace that goes on; nil where there are too many threads, or no memory.
  @inline(__always)
  package static var current: TraceRing? {
    let session = treadle_system_trace_session()
    guard let memory = treadle_system_thread().pointee.trace else { return take(session) }
    let ring = TraceRing(memory)
    if ring.head.pointee.session.load(ordering: .relaxed) != session { ring.begin(session) }
    return ring
  }

  @inline(never)
  private static func take(_ session: UInt32) -> TraceRing? {
    // Its end will be told, by which the ring becomes another's.
    if treadle_system_watch_thread() < 0 { return nil }
    let made = UnsafeMutableRawPointer(treadle_system_trace_rings_made()).assumingMemoryBound(to: Atomic<UInt32>.self)
    let mayMake = made.pointee.load(ordering: .relaxed) < mostRings
    var found: TraceRing?
    forEach { ring in
      let state = ring.head.pointee.state.load(ordering: .relaxed)
      // One of this trace only where there are as many rings as there may be.
      if found == nil && State.isEnded(state) && (state != State.ended(in: session) || !mayMake)
        && ring.head.pointee.state.compareExchange(expected: state, desired: State.inUse, ordering: .acquiring)
          .exchanged
      {
        found = ring
      }
    }
    if found == nil && mayMake { found = make(made) }
    guard let ring = found else { return nil }
    ring.begin(session)
    treadle_system_thread().pointee.trace = ring.memory
    return ring
  }

  /// A new ring, in the list of all; nil without memory, or where other threads have made the last ones meanwhile.
  private static func make(_ made: UnsafeMutablePointer<Atomic<UInt32>>) -> TraceRing? {
    guard made.pointee.add(1, ordering: .relaxed).oldValue < mostRings, let memory = treadle_system_zeroed(size) else {
      made.pointee.subtract(1, ordering: .relaxed)
      return nil
    }
    let ring = TraceRing(memory)
    ring.head.pointee.state.store(State.inUse, ordering: .relaxed)
    let list = treadle_system_trace_rings().assumingMemoryBound(to: Atomic<UInt>.self)
    var next = list.pointee.load(ordering: .relaxed)
    while true {
      ring.head.pointee.next.store(next, ordering: .relaxed)
      let (isExchanged, other) = list.pointee.weakCompareExchange(
        expected: next, desired: UInt(bitPattern: memory), ordering: .acquiringAndReleasing)
      if isExchanged { return ring }
      next = other
    }
  }

  @inline(never)
  private func begin(_ session: UInt32) {
    for place in 0..<TraceRing.seenCount { seen[place] = 0 }
    head.pointee.gate.lock()
    head.pointee.names.removeAll()
    head.pointee.gate.unlock()
    head.pointee.thread.store(Runtime.threadID, ordering: .relaxed)
    head.pointee.first.store(count, ordering: .relaxed)
    head.pointee.lastEnd = 0
    head.pointee.session.store(session, ordering: .releasing)
  }

  /// How many events there ever were.
  @inline(__always)
  private var count: UInt64 { head.pointee.count.load(ordering: .relaxed) }

  /// The number of the event.
  @inline(__always)
  @discardableResult
  func append(_ time: Int64, _ what: UInt8, number: UInt64, subject: UInt, flow: UInt64) -> UInt64 {
    let index = count
    let words = self.words(index)
    words[0].store(UInt64(bitPattern: time), ordering: .relaxed)
    words[1].store(number << 8 | UInt64(what), ordering: .relaxed)
    words[2].store(UInt64(subject), ordering: .relaxed)
    words[3].store(flow, ordering: .relaxed)
    head.pointee.count.store(index &+ 1, ordering: .releasing)
    return index
  }

  // One record for a callback: what comes during it follows it, and how long it took is filled in when it has returned.

  /// A callback begins. kind: as events of hosts number them. Its number, for `endCall`.
  @inline(__always)
  package func beginCall(at time: Int64, kind: UInt32, subject: UInt, flow: UInt64) -> UInt64 {
    append(time, Trace.What.call, number: UInt64(kind & 255) | TraceRing.longest << 8, subject: subject, flow: flow)
  }

  /// It has returned, unless its place serves another event by now.
  @inline(__always)
  package func endCall(_ index: UInt64, kind: UInt32, from begin: Int64, to end: Int64) {
    if count &- index > TraceRing.capacity { return }
    let duration = min(UInt64(max(end &- begin, 0)), TraceRing.longest &- 1)
    words(index)[1].store(
      duration << TraceRing.durationShift | UInt64(kind & 255) << 8 | UInt64(Trace.What.call), ordering: .relaxed)
  }

  /// The moment at which a callback has returned is where the pass or callback begins that follows.
  @inline(__always)
  package func noteEnd(_ moment: Int64) {
    head.pointee.lastEnd = moment
    head.pointee.lastCount = count
  }
  /// That moment; nil if anything was recorded since.
  @inline(__always)
  package var endOfLastCall: Int64? {
    head.pointee.lastEnd != 0 && head.pointee.lastCount == count ? head.pointee.lastEnd : nil
  }

  /// An item's label, noted once while the item is among the last that were.
  @inline(__always)
  package func name(_ item: UInt, _ label: @autoclosure () -> UnsafePointer<CChar>?) {
    let place = Int((item ^ item >> 32) % UInt(TraceRing.seenCount))
    if seen[place] != item, let label = label() { note(item, label, place) }
  }

  @inline(never)
  private func note(_ item: UInt, _ label: UnsafePointer<CChar>, _ place: Int) {
    seen[place] = item
    var (name, room) = (TraceName(item: item), Buffer<TraceName>())
    withUnsafeMutableBytes(of: &name.text) { room in
      var text = FixedText(room)
      text.append(label)
    }
    while true {
      head.pointee.gate.lock()
      head.pointee.names.move(into: &room)
      let isFull = head.pointee.names.isFull && head.pointee.names.count < TraceRing.mostNames
      if head.pointee.names.count < TraceRing.mostNames { _ = head.pointee.names.appendInRoom(name) }
      head.pointee.gate.unlock()
      if !isFull || !room.reserve(head.pointee.names.capacity(for: 0)) { break }
    }
    room.free()
  }

  func end() {
    withUnsafeMutableBytes(of: &head.pointee.kernelName) { room in
      if let name = room.baseAddress { treadle_system_thread_name(threadID, name.assumingMemoryBound(to: CChar.self)) }
    }
    head.pointee.state.store(State.ended(in: head.pointee.session.load(ordering: .relaxed)), ordering: .releasing)
  }

  // MARK: The writer of the file

  package static func forEach(_ body: (TraceRing) -> Void) {
    let list = treadle_system_trace_rings().assumingMemoryBound(to: Atomic<UInt>.self)
    var next = list.pointee.load(ordering: .acquiring)
    while let memory = UnsafeMutableRawPointer(bitPattern: next) {
      let ring = TraceRing(memory)
      body(ring)
      next = ring.head.pointee.next.load(ordering: .relaxed)
    }
  }

  package func isOf(_ session: UInt32) -> Bool { head.pointee.session.load(ordering: .acquiring) == session }
  package var threadID: Int32 { head.pointee.thread.load(ordering: .relaxed) }

  /// The events of this trace that are still there, and how many are not. A thread that was just recording when the
  /// trace was stopped may still write one: the oldest few are left out.
  package func events() -> (range: Range<UInt64>, lost: UInt64) {
    let count = head.pointee.count.load(ordering: .acquiring)
    let first = head.pointee.first.load(ordering: .relaxed)
    let kept = TraceRing.capacity &- 16
    let begin = count &- first > kept ? count &- kept : first
    return (begin..<max(begin, count), begin &- first)
  }
  package func event(_ index: UInt64) -> Trace.Event {
    let words = self.words(index)
    let second = words[1].load(ordering: .relaxed)
    let what = UInt8(truncatingIfNeeded: second)
    var event = Trace.Event(
      time: Int64(bitPattern: words[0].load(ordering: .relaxed)), what: what,
      number: what == Trace.What.call ? second >> 8 & 255 : second >> 8,
      subject: UInt(words[2].load(ordering: .relaxed)), flow: words[3].load(ordering: .relaxed))
    let duration = second >> TraceRing.durationShift
    if what == Trace.What.call && duration != TraceRing.longest { event.end = event.time &+ Int64(duration) }
    return event
  }

  /// Calls `body` with the label of an item, if it was noted.
  package func withName(of item: UInt, _ body: (UnsafePointer<CChar>) -> Void) {
    head.pointee.gate.lock()
    var found: TraceName?
    for name in head.pointee.names.elements where name.item == item { found = name }
    head.pointee.gate.unlock()
    guard var found else { return }
    withUnsafeBytes(of: &found.text) { text in
      if let text = text.baseAddress { body(text.assumingMemoryBound(to: CChar.self)) }
    }
  }

  /// Calls `body` with the kernel's name of the thread, also when that has ended.
  package func withThreadName(_ body: (UnsafePointer<CChar>) -> Void) {
    var name = State.isEnded(head.pointee.state.load(ordering: .acquiring)) ? head.pointee.kernelName : (0, 0)
    withUnsafeMutableBytes(of: &name) { room in
      guard let text = room.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      if text[0] == 0 { treadle_system_thread_name(threadID, text) }
      if text[0] != 0 { body(text) }
    }
  }
}
