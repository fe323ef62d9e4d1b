// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Delivering while somebody debugs, a trace is recorded, or a probe has a listener: each callout is timed and told of, once before
/// for a descriptor that has failed. It goes the way that `deliver` goes, with the same steps in between. Events that a host fetches are not timed.
extension Loop {
  @inline(never)
  func deliverWatched(_ frame: Frame.Pointer) {
    while nextOfAny(frame) && callWatched(frame) {}
  }

  /// Calls the frame's callout, timed, traced, or between two probes.
  @inline(never)
  func callWatched(_ frame: Frame.Pointer) -> Bool {
    let isListened = Watch.isListened
    if Watch.isTracing { traceBegin(frame.pointee.callout) }
    if isListened { probeBegin(frame.pointee.callout) }
    let goesOn = Watch.isTiming ? callTimed(frame) : call(frame.pointee.callout.kind, frame)
    if isListened { treadle_system_probe_call_ends(handle.bits) }
    if Watch.isTracing { Trace.record(Trace.What.callEnds) }
    return goesOn
  }

  @inline(never)
  func passBegins() {
    let number = state.pointee.counters.passes.load(ordering: .relaxed)
    if Watch.isTracing { Trace.record(Trace.What.pass, number: number) }
    if Watch.isListened { treadle_system_probe_pass_begins(handle.bits, number) }
  }

  /// A pass that is not gone on with ends, for probes.
  @inline(never)
  func abandonedPassEnds(_ frame: Frame.Pointer) {
    switch frame.pointee.step {
    case .enter, .entered, .open, .leave, .left: break
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
    let kind = UnsafeRawPointer(Loop.category(Loop.eventKind(callout.kind)).utf8Start).assumingMemoryBound(to: CChar.self)
    let name = Loop.callName(callout)
    let (label, subject) = callout.item.map { ($0.label, $0.handle.bits) } ?? (name.label, name.code)
    treadle_system_probe_call_begins(handle.bits, kind, label ?? kind, subject)
  }

  /// What a block or a job is called by.
  private static func callName(_ callout: Callout) -> CallName {
    if callout.kind == .job { return callout.job?.pointee.name ?? .none }
    if !callout.isPost { return .none }
    return callout.block.node?.pointee.name ?? callout.block.code.map { CallName(post: $0) } ?? .none
  }

  private func traceBegin(_ callout: Callout) {
    let kind = UInt64(Loop.eventKind(callout.kind))
    if let item = callout.item {
      let flow = callout.kind == .source ? Trace.flow(of: item.handle.bits, item.signalTime) : 0
      return Trace.record(Trace.What.callBegins, number: kind, item: item.handle.bits, label: item.label, flow: flow)
    }
    let node = callout.isPost ? callout.block.node : nil
    let flow = callout.kind == .job ? callout.job?.pointee.flow : node?.pointee.flow
    Trace.record(Trace.What.callBegins, number: kind, subject: Loop.callName(callout).bits, flow: flow ?? 0)
  }

  @inline(never)
  private func callTimed(_ frame: Frame.Pointer) -> Bool {
    let callout = frame.pointee.callout
    if callout.kind == .descriptor && callout.value & Readiness.failed != 0 { tell(callout, nil, -1) }
    let block = callout.isPost ? callout.block : Entry(first: 0, second: 0)
    let code = block.code ?? block.node?.pointee.code
    let start = Clock.now()
    let outer = state.pointee.calledSince.exchange(start, ordering: .sequentiallyConsistent)
    if Watch.isGuarded { treadle_system_guard() }
    if !call(callout.kind, frame) { return false }
    state.pointee.calledSince.store(outer, ordering: .releasing)
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
      UnsafeMutableRawPointer(state), Loop.eventKind(callout.kind), callout.item?.tag ?? 0, code, duration)
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
