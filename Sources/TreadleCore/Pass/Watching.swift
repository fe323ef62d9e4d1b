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

  /// Calls the frame's callout, timed.
  @inline(never)
  func callWatched(_ frame: Frame.Pointer) -> Bool {
    let callout = frame.pointee.callout
    if callout.kind == .descriptor && callout.value & Readiness.failed != 0 { tell(callout, nil, -1) }
    let block = callout.kind == .block ? callout.block : Entry(first: 0, second: 0)
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
    case .block: callBlock(frame)
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
