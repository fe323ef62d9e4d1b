// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleBase

/// Writes what threads have recorded as a trace of Perfetto's (https://perfetto.dev/docs/reference/trace-packet-proto):
/// a track for each thread, slices for runs, passes, sleeps and callbacks, instants for posts, requests, signals and
/// marks, and flows from these to the callbacks that they lead to.
struct TraceFile {
  /// Field numbers of perfetto.protos.
  private enum Field {
    static let packet: UInt64 = 1
    // TracePacket
    static let timestamp: UInt64 = 8
    static let sequence: UInt64 = 10
    static let trackEvent: UInt64 = 11
    static let sequenceFlags: UInt64 = 13
    static let trackDescriptor: UInt64 = 60
    // TrackDescriptor
    static let uuid: UInt64 = 1
    static let process: UInt64 = 3
    static let thread: UInt64 = 4
    static let parent: UInt64 = 5
    // ProcessDescriptor, ThreadDescriptor
    static let pid: UInt64 = 1
    static let tid: UInt64 = 2
    static let threadName: UInt64 = 5
    static let processName: UInt64 = 6
    // TrackEvent
    static let annotation: UInt64 = 4
    static let type: UInt64 = 9
    static let track: UInt64 = 11
    static let category: UInt64 = 22
    static let name: UInt64 = 23
    static let flow: UInt64 = 47
    static let lastFlow: UInt64 = 48
    // DebugAnnotation
    static let annotationInt: UInt64 = 4
    static let annotationText: UInt64 = 6
    static let annotationName: UInt64 = 10
  }
  /// TrackEvent.Type.
  private enum Kind {
    static let begin: UInt64 = 1
    static let end: UInt64 = 2
    static let instant: UInt64 = 3
  }
  private static let processTrack: UInt64 = 1

  private let file: Int32
  /// Moments by the counter and the clock, as the trace began, and how many nanoseconds a count takes.
  private let began = treadle_system_trace_anchor_begun()
  private let scale: Double
  private var buffer = Buffer<UInt8>()
  private var ring: TraceRing?
  private var sequence: UInt64 = 0
  /// The slices that are open on the track.
  private var open = Buffer<Open>()
  /// A slice that is open. end: of a callback, whose end is known from the beginning.
  private struct Open: BitwiseCopyable {
    let what: UInt8
    let end: Int64?
  }
  /// What became of it: 0, or -errno.
  private(set) var result: Int32 = 0

  init(_ file: Int32) {
    self.file = file
    let now = treadle_system_trace_anchor_now()
    let counts = now.moment &- began.moment
    scale = counts > 0 ? Double(now.time &- began.time) / Double(counts) : 1
  }

  /// An event of a ring, with its time by the clock.
  private func event(_ index: UInt64, of ring: TraceRing) -> Trace.Event {
    var event = ring.event(index)
    event.time = clock(event.time)
    event.end = event.end.map { clock($0) }
    return event
  }
  private func clock(_ moment: Int64) -> Int64 { began.time &+ Int64(Double(moment &- began.moment) * scale) }

  mutating func write(_ session: UInt32) {
    writeProcess()
    TraceRing.forEach { ring in
      if ring.isOf(session) { write(ring) }
    }
    flush()
    buffer.free()
    open.free()
  }

  // MARK: Tracks

  private mutating func writeProcess() {
    var process = ProtobufMessage()
    process.number(Field.pid, UInt64(treadle_system_process_id()))
    var name: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &name) { room in
      guard let text = room.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      treadle_system_thread_name(treadle_system_process_id(), text)
      process.text(Field.processName, text)
    }
    var track = ProtobufMessage()
    track.number(Field.uuid, TraceFile.processTrack)
    track.message(Field.process, process)
    var packet = ProtobufMessage()
    packet.message(Field.trackDescriptor, track)
    append(packet)
  }

  private var track: UInt64 { TraceFile.processTrack &+ sequence }

  private mutating func write(_ ring: TraceRing) {
    self.ring = ring
    sequence &+= 1
    open.removeAll()
    var thread = ProtobufMessage()
    thread.number(Field.pid, UInt64(treadle_system_process_id()))
    thread.number(Field.tid, UInt64(UInt32(bitPattern: ring.threadID)))
    ring.withThreadName { thread.text(Field.threadName, $0) }
    var track = ProtobufMessage()
    track.number(Field.uuid, self.track)
    track.number(Field.parent, TraceFile.processTrack)
    track.message(Field.thread, thread)
    var packet = ProtobufMessage()
    packet.number(Field.sequence, sequence)
    packet.number(Field.sequenceFlags, 1)
    packet.message(Field.trackDescriptor, track)
    append(packet)
    let (range, lost) = ring.events()
    var last: Int64 = 0
    if lost != 0, !range.isEmpty {
      begin(event(range.lowerBound, of: ring).time, Kind.instant) { event in
        event.text(Field.category, "treadle")
        event.text(Field.name, "events before this were not kept")
        event.message(Field.annotation, TraceFile.annotation("events", Int64(truncatingIfNeeded: lost)))
      }
    }
    for index in range {
      let event = event(index, of: ring)
      last = event.time
      write(event)
    }
    while !open.isEmpty {
      last = max(last, top?.end ?? last)
      end(last)
    }
  }

  // MARK: Events

  private mutating func write(_ event: Trace.Event) {
    endCalls(before: event)
    switch event.what {
    case Trace.What.runBegins: open(event, "run", "loop")
    case Trace.What.runEnds: close(Trace.What.runBegins, event.time)
    case Trace.What.pass:
      if top?.what == Trace.What.pass { end(event.time) }
      open(event, "pass", "loop")
    case Trace.What.sleepBegins: open(event, "sleep", "loop")
    case Trace.What.sleepEnds: close(Trace.What.sleepBegins, event.time)
    case Trace.What.call: openCall(event)
    case Trace.What.post: instant(event, "post")
    case Trace.What.request: instant(event, "request")
    case Trace.What.signal: instant(event, "signal")
    case Trace.What.mark: instant(event, "mark")
    default: break
    }
  }

  private mutating func open(_ event: Trace.Event, _ name: StaticString, _ category: StaticString) {
    begin(event.time, Kind.begin) { message in
      message.text(Field.category, category)
      message.text(Field.name, name)
      if event.number != 0 {
        message.message(Field.annotation, TraceFile.annotation("number", Int64(truncatingIfNeeded: event.number)))
      }
    }
    push(event)
  }

  private mutating func openCall(_ event: Trace.Event) {
    let category = Loop.category(UInt32(truncatingIfNeeded: event.number))
    let ring = self.ring
    begin(event.time, Kind.begin) { message in
      message.text(Field.category, category)
      TraceFile.name(&message, event, ring, category)
      if event.flow != 0 { message.fixed64(Field.lastFlow, event.flow) }
    }
    push(event)
  }

  private mutating func instant(_ event: Trace.Event, _ category: StaticString) {
    let ring = self.ring
    begin(event.time, Kind.instant) { message in
      message.text(Field.category, category)
      TraceFile.name(&message, event, ring, category)
      if event.what == Trace.What.mark {
        message.message(Field.annotation, TraceFile.annotation("value", Int64(bitPattern: event.flow)))
      } else if event.flow != 0 {
        message.fixed64(Field.flow, event.flow)
      }
      if event.what == Trace.What.signal && event.number == Trace.quietSignal {
        message.message(Field.annotation, TraceFile.annotation("woke nothing", 1))
      }
    }
  }

  /// The label, or else what it is; and the function of a post or request without a label.
  private static func name(
    _ message: inout ProtobufMessage, _ event: Trace.Event, _ ring: TraceRing?, _ otherwise: StaticString
  ) {
    var isNamed = false
    if event.what == Trace.What.mark {
      guard let label = UnsafePointer<CChar>(bitPattern: event.subject) else { return }
      return message.text(Field.name, label)
    }
    let isCall =
      event.what == Trace.What.post || event.what == Trace.What.request || event.number == UInt64(CallKind.block)
      || event.number == UInt64(CallKind.request)
    if isCall {
      let name = CallName(bits: event.subject)
      if let label = name.label { return message.text(Field.name, label) }
      message.text(Field.name, otherwise)
      if name.code != 0 {
        message.message(Field.annotation, TraceFile.annotation("function", Int64(bitPattern: UInt64(name.code))))
      }
      return
    }
    ring?.withName(of: event.subject) { label in
      message.text(Field.name, label)
      isNamed = true
    }
    if !isNamed { message.text(Field.name, otherwise) }
    message.message(Field.annotation, TraceFile.annotation("handle", Int64(bitPattern: UInt64(event.subject))))
  }

  /// As events of hosts number them (TREADLE_EVENT_...).
  private enum CallKind {
    static let block = Event.Kind.block
    static let request = Event.Kind.request
  }
  private static func annotation(_ name: StaticString, _ value: Int64) -> ProtobufMessage {
    var annotation = ProtobufMessage()
    annotation.text(Field.annotationName, name)
    annotation.number(Field.annotationInt, UInt64(bitPattern: value))
    return annotation
  }

  // MARK: Slices

  private var top: Open? { open[open.count &- 1] }
  private mutating func push(_ event: Trace.Event) {
    if !open.append(Open(what: event.what, end: event.end)) { result = 0 &- treadle_system_enomem() }
  }

  /// Ends the callbacks that have returned before the event. What comes at the same moment is inside of them if
  /// callbacks may do it.
  private mutating func endCalls(before event: Trace.Event) {
    while let top, let last = top.end, last < event.time || last == event.time && TraceFile.isOfLoop(event.what) {
      end(last)
    }
  }
  private static func isOfLoop(_ what: UInt8) -> Bool {
    switch what {
    case Trace.What.post, Trace.What.request, Trace.What.signal, Trace.What.mark, Trace.What.runBegins: false
    default: true
    }
  }

  /// Ends the slices inside of the innermost one of a kind, and that; nothing if its begin is not kept.
  private mutating func close(_ what: UInt8, _ time: Int64) {
    var place = open.count
    while place > 0 && open[place &- 1]?.what != what { place &-= 1 }
    if place == 0 { return }
    while open.count >= place { end(time) }
  }

  private mutating func end(_ time: Int64) {
    begin(time, Kind.end) { _ in }
    open.truncate(open.count &- 1)
  }

  /// A packet with an event of the track.
  private mutating func begin(_ time: Int64, _ kind: UInt64, _ body: (inout ProtobufMessage) -> Void) {
    var event = ProtobufMessage()
    event.number(Field.type, kind)
    event.number(Field.track, track)
    body(&event)
    var packet = ProtobufMessage()
    packet.number(Field.timestamp, UInt64(bitPattern: time))
    packet.number(Field.sequence, sequence)
    packet.message(Field.trackEvent, event)
    append(packet)
  }

  // MARK: Bytes

  private static let pieceSize = 65_536

  private mutating func append(_ packet: ProtobufMessage) {
    var trace = ProtobufMessage()
    trace.message(Field.packet, packet)
    if !trace.append(to: &buffer) { result = 0 &- treadle_system_enomem() }
    if buffer.count >= TraceFile.pieceSize { flush() }
  }

  private mutating func flush() {
    if result == 0 { result = treadle_system_write_all(file, buffer.elements.baseAddress, buffer.count) }
    buffer.removeAll()
  }
}
