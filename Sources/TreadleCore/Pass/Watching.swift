// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Delivering while somebody debugs: each callout is timed and told of, once before for a descriptor that has failed. It goes
/// the way that `deliver` goes, with the same steps in between. Events that a host fetches are not timed.
extension Loop {
  @inline(never)
  func deliverWatched(_ frame: Frame.Pointer) {
    while nextOfAny(frame) && callWatched(frame) {}
  }

  /// Calls the frame's callout, timed or traced.
  @inline(never)
  func callWatched(_ frame: Frame.Pointer) -> Bool {
    if !Watch.isTracing { return callTimed(frame) }
    traceBegin(frame.pointee.callout)
    let goesOn = Watch.isTiming ? callTimed(frame) : call(frame.pointee.callout.kind, frame)
    if Watch.isTracing { Trace.record(Trace.What.callEnds) }
    return goesOn
  }

  private func traceBegin(_ callout: Callout) {
    let kind = UInt64(Loop.eventKind(callout.kind))
    if let item = callout.item {
      let flow = callout.kind == .source ? Trace.flow(of: item.handle.bits, item.signalTime) : 0
      return Trace.record(Trace.What.callBegins, number: kind, item: item.handle.bits, label: item.label, flow: flow)
    }
    if callout.kind == .job, let job = callout.job {
      return Trace.record(Trace.What.callBegins, number: kind, subject: job.pointee.name.bits, flow: job.pointee.flow)
    }
    let node = callout.isPost ? callout.block.node : nil
    let name = node?.pointee.name ?? callout.block.code.map { CallName(post: $0) } ?? .none
    Trace.record(Trace.What.callBegins, number: kind, subject: name.bits, flow: node?.pointee.flow ?? 0)
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
