// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Recording what loops do, for a trace of one's own run (RL-16). Each thread writes events to a ring of its own, so
/// recording takes no lock, and keeps the latest. The writer of the file reads the rings of all threads, each word as
/// it is.
package enum Trace {
  /// What an event says. The file is written from these (`TraceFile`).
  package enum What {
    package static let runBegins: UInt8 = 1
    package static let runEnds: UInt8 = 2
    package static let pass: UInt8 = 3
    package static let sleepBegins: UInt8 = 4
    package static let sleepEnds: UInt8 = 5
    package static let call: UInt8 = 6
    package static let post: UInt8 = 7
    package static let request: UInt8 = 8
    package static let signal: UInt8 = 9
    package static let mark: UInt8 = 10
  }

  /// One event, or a callback from its begin to its end. Times: in a ring by the counter or the clock
  /// (`treadle_system_trace_moment`), in the file by the clock. end: of a callback that has returned; nil: none.
  /// subject: an item's handle, a `CallName`, or a label that is kept. flow: a number that an event shares with the
  /// callback to which it leads; 0: none.
  package struct Event: BitwiseCopyable {
    package var time: Int64
    package var end: Int64? = nil
    package let what: UInt8
    package let number: UInt64
    package let subject: UInt
    package let flow: UInt64
  }

  /// Records an event of the calling thread, at this moment.
  @inline(never)
  package static func record(_ what: UInt8, number: UInt64 = 0, subject: UInt = 0, flow: UInt64 = 0) {
    TraceRing.current?.append(treadle_system_trace_moment(), what, number: number, subject: subject, flow: flow)
  }

  /// The same of an item, whose label is noted with it.
  @inline(never)
  package static func record(_ what: UInt8, number: UInt64, item: UInt, label: UnsafePointer<CChar>?, flow: UInt64) {
    guard let ring = TraceRing.current else { return }
    ring.name(item, label)
    ring.append(treadle_system_trace_moment(), what, number: number, subject: item, flow: flow)
  }

  /// The same of an event at an earlier moment, since which the thread has recorded nothing.
  @inline(never)
  package static func record(_ what: UInt8, at moment: Int64, subject: UInt, flow: UInt64) {
    TraceRing.current?.append(moment, what, number: 0, subject: subject, flow: flow)
  }

  /// A pass begins: where the callback returned that is the last event, if it is, without a reading of the counter.
  @inline(never)
  package static func recordPass(_ number: UInt64) {
    guard let ring = TraceRing.current else { return }
    ring.append(ring.endOfLastCall ?? treadle_system_trace_moment(), What.pass, number: number, subject: 0, flow: 0)
  }

  /// The number of a signal that found its loop asleep, and has not woken it.
  package static let quietSignal: UInt64 = 1

  /// A number for an arrow.
  package static func nextFlow() -> UInt64 { treadle_system_next_flow() }
  /// That of a signal of a source, which both ends know.
  @inline(__always)
  package static func flow(of source: UInt, _ time: UInt64) -> UInt64 {
    (UInt64(source) ^ time &* 0x9E37_79B9_7F4A_7C15) &* 0xBF58_476D_1CE4_E5B9 | 1 << 63
  }
  /// That of a plain post, which both ends know: the number of its place in the loop's queue, of all that there ever
  /// were.
  @inline(__always)
  package static func flow(ofPost place: UInt64, to loop: UInt) -> UInt64 {
    (UInt64(loop) ^ place &* 0xD6E8_FEB8_6659_FD93) &* 0xA3B1_9535_4A39_B70D | 1 << 63
  }

  /// The calling thread ends: its ring keeps what it has until the trace is written.
  package static func endThread() {
    let thread = treadle_system_thread()
    guard let memory = thread.pointee.trace else { return }
    thread.pointee.trace = nil
    TraceRing(memory).end()
  }
}
