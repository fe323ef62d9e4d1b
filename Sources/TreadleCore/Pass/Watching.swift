// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Delivering while somebody debugs, a trace is recorded, or a probe has a listener: each callout is timed and told of
/// behind its call; a descriptor that has failed is told of before it as well. The steps are those of `deliver`. Events
/// that a host fetches are not timed.
extension Loop {
  @inline(never)
  func deliverWatched(_ frame: Frame.Pointer) {
    var isFirst = true
    while nextOfAny(frame) {
      let isTraced = Watch.isTracing && !Watch.isTiming && !Watch.isListened
      if !(isTraced ? callTraced(frame, isFirst) : callWatched(frame)) { return }
      isFirst = false
    }
  }

  /// Calls the frame's callout, timed, traced, or between two probes.
  @inline(never)
  func callWatched(_ frame: Frame.Pointer) -> Bool {
    let isListened = Watch.isListened
    if isListened { probeBegin(frame.pointee.callout) }
    let traced =
      Watch.isTracing ? TraceRing.current.map { beginTraced(frame, $0, at: treadle_system_trace_moment()) } : nil
    let goesOn = Watch.isTiming ? callTimed(frame) : call(frame.pointee.callout.kind, frame)
    if let traced { end(traced) }
    if isListened { treadle_system_probe_call_ends(handle.bits) }
    return goesOn
  }

  // MARK: Traces

  /// A callback that is recorded.
  private struct TracedCall {
    let ring: TraceRing
    let number: UInt64
    let begin: Int64
    let kind: UInt32
  }

  /// Calls the frame's callout, which is recorded. But for the first of its batch it begins at the moment at which the
  /// one before it returned, if nothing was recorded since: one reading of the counter serves both.
  @inline(__always)
  private func callTraced(_ frame: Frame.Pointer, _ isFirst: Bool) -> Bool {
    guard let ring = TraceRing.current else { return call(frame.pointee.callout.kind, frame) }
    let traced = beginTraced(frame, ring, at: (isFirst ? nil : ring.endOfLastCall) ?? treadle_system_trace_moment())
    let goesOn = call(frame.pointee.callout.kind, frame)
    ring.noteEnd(end(traced))
    return goesOn
  }

  @inline(__always)
  private func beginTraced(_ frame: Frame.Pointer, _ ring: TraceRing, at moment: Int64) -> TracedCall {
    let callout = frame.pointee.callout
    let kind = Loop.eventKind(callout.kind)
    let number: UInt64
    if let item = callout.item {
      let subject = item.handle.bits
      ring.name(subject, item.label)
      let flow = callout.kind == .source ? Trace.flow(of: subject, item.signalTime) : 0
      number = ring.beginCall(at: moment, kind: kind, subject: subject, flow: flow)
    } else {
      number = ring.beginCall(
        at: moment, kind: kind, subject: Loop.callName(callout).bits, flow: flow(of: callout, frame))
    }
    return TracedCall(ring: ring, number: number, begin: moment, kind: kind)
  }

  /// Returns the moment.
  @inline(__always)
  @discardableResult
  private func end(_ call: TracedCall) -> Int64 {
    let moment = treadle_system_trace_moment()
    call.ring.endCall(call.number, kind: call.kind, from: call.begin, to: moment)
    return moment
  }

  /// The number of the arrow that leads to a block or job; 0: none.
  @inline(__always)
  private func flow(of callout: Callout, _ frame: Frame.Pointer) -> UInt64 {
    if callout.kind == .job { return callout.job?.pointee.flow ?? 0 }
    if callout.kind != .block { return 0 }
    if let node = callout.block.node { return node.pointee.flow }
    return frame.pointee.batch.placeOfTaken.map { Trace.flow(ofPost: $0, to: handle.bits) } ?? 0
  }

  @inline(never)
  func passBegins(_ frame: Frame.Pointer) {
    let number = state.counters.passes.load(ordering: .relaxed)
    if Watch.isTelling && frame.pointee.timeout > 0 {
      state.gate.lock()
      let isCalled = state.isCalledFromOutside
      state.gate.unlock()
      treadle_system_note_pass(UnsafeMutableRawPointer(address), isCalled)
    }
    if Watch.isTracing { Trace.recordPass(number) }
    if Watch.isListened { treadle_system_probe_pass_begins(handle.bits, number) }
  }

  /// A pass that is not gone on with ends, for probes.
  @inline(never)
  func abandonedPassEnds(_ frame: Frame.Pointer) {
    switch frame.pointee.step {
    case .enter, .entered, .open, .leave, .left, .prepare: break
    default: treadle_system_probe_pass_ends(handle.bits)
    }
  }

  @inline(never)
  func sleepBegins() {
    if Watch.isTracing { Trace.record(Trace.What.sleepBegins) }
    if Watch.isListened { treadle_system_probe_sleep_begins(handle.bits) }
  }
  @inline(never)
  func sleepEnds() {
    if Watch.isTracing { Trace.record(Trace.What.sleepEnds) }
    if Watch.isListened { treadle_system_probe_sleep_ends(handle.bits) }
  }

  private func probeBegin(_ callout: Callout) {
    let kind = Loop.category(Loop.eventKind(callout.kind)).cText
    let name = Loop.callName(callout)
    let (label, subject) = callout.item.map { ($0.label, $0.handle.bits) } ?? (name.label, name.code)
    treadle_system_probe_call_begins(handle.bits, kind, label ?? kind, subject)
  }

  /// What a block or a job is called by.
  @inline(__always)
  private static func callName(_ callout: Callout) -> CallName {
    if callout.kind == .job { return callout.job?.pointee.name ?? .none }
    if !callout.isPost { return .none }
    return callout.block.node?.pointee.item.name ?? callout.block.code.map { CallName(post: $0) } ?? .none
  }

  @inline(never)
  private func callTimed(_ frame: Frame.Pointer) -> Bool {
    let callout = frame.pointee.callout
    if callout.kind == .descriptor && callout.value & Readiness.failed != 0 { tell(callout, nil, -1) }
    let block = callout.isPost ? callout.block : Entry(first: 0, second: 0)
    let code = block.code ?? block.node?.pointee.item.code
    let start = Clock.now()
    let outer = state.calledSince.exchange(start, ordering: .sequentiallyConsistent)
    if Watch.isGuarded { treadle_system_guard() }
    if !call(callout.kind, frame) { return false }
    state.calledSince.store(outer, ordering: .releasing)
    tell(callout, code, Clock.now() &- start)
    return true
  }

  func nextOfAny(_ frame: Frame.Pointer) -> Bool {
    switch frame.pointee.batch.kind {
    case .observers: nextObserver(frame)
    case .sources: nextSource(frame)
    case .blocks: nextBlock(frame)
    case .timers: nextTimer(frame)
    case .descriptor: nextDescriptor(frame)
    case .port: nextMessage(frame)
    case .none: false
    }
  }

  func call(_ kind: Callout.Kind, _ frame: Frame.Pointer) -> Bool {
    switch kind {
    case .source, .timer: callItem(frame)
    case .observer, .descriptor: callItemWithValue(frame)
    case .block, .scopedPost: callBlock(frame)
    case .job: callJob(frame)
    case .message: callPort(frame)
    case .none: false
    }
  }

  private func tell(_ callout: Callout, _ code: UnsafeMutableRawPointer?, _ duration: Int64) {
    treadle_system_tell(
      UnsafeMutableRawPointer(address), Loop.eventKind(callout.kind), callout.item?.tag ?? 0, code, duration)
  }
}

extension Loop {
  /// What events and probes say of a callback, by its kind as events of hosts number them.
  package static func category(_ kind: UInt32) -> StaticString {
    switch kind {
    case Event.Kind.perform: "source"
    case Event.Kind.timer: "timer"
    case Event.Kind.observer: "observer"
    case Event.Kind.block: "post"
    case Event.Kind.request: "request"
    case Event.Kind.message: "port"
    default: "descriptor"
    }
  }
}
