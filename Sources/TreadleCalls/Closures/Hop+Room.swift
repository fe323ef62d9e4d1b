// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

/// Finding room among the calls that wait already.
extension Hop {
  enum Entry {
    /// It waits for the loop.
    case inside
    /// It is to be carried, but there are too many before it.
    case outside
    /// It will not be carried: the caller has the default result.
    case refused
  }

  func enter(_ call: HoppedCall.Pointer, _ copy: ArgumentCopy) -> Entry {
    if let entry = append(call, always: false) { return entry }
    switch carrier.pointee.whenFull {
    case .block:
      if carrier.pointee.wait == .none && carrier.pointee.loop.belongsToCaller {
        drop(Failure(Status.deadlock, "closure", "has a full queue, which only this thread can empty"))
        return .refused
      }
      return append(call, always: true) ?? .refused
    case .fail:
      drop(Failure(Status.noMemory, "closure", "has a full queue"))
      if ClosureBody.isFirst(ClosureBody.Report.full, body) {
        LastResort.report("closure", "a call was refused: its queue is full")
      }
      return .refused
    case .dropNewest: return dropSilently()
    case .dropOldest: return replaceOldest(by: call)
    case .coalesce: return replaceArguments(by: copy, call)
    }
  }

  /// Nil without room; then it is in the queue, outside, only if `always`.
  private func append(_ call: HoppedCall.Pointer, always: Bool) -> Entry? {
    carrier.pointee.gate.lock()
    defer { carrier.pointee.gate.unlock() }
    if carrier.pointee.isEnded { return .refused }
    if carrier.pointee.queue.isFull && !always { return nil }
    carrier.pointee.queue.append(call)
    return call.pointee.hasRoom ? .inside : .outside
  }

  private func dropSilently() -> Entry {
    body.pointee.dropped.add(1, ordering: .relaxed)
    return .refused
  }

  private func replaceOldest(by call: HoppedCall.Pointer) -> Entry {
    var patience = Patience()
    while true {
      if let entry = append(call, always: false) { return entry }
      // Those that are only about to be queued came at the same time as this one, which may as well have been before
      // them all.
      guard let oldest = holdOldest() else { return dropSilently() }
      if oldest.cancel() { body.pointee.dropped.add(1, ordering: .relaxed) } else { patience.wait() }
      oldest.release()
    }
  }

  private func holdOldest() -> CarriedCall? {
    carrier.pointee.gate.lock()
    defer { carrier.pointee.gate.unlock() }
    var next = carrier.pointee.queue.first
    while let call = next {
      let carried = HoppedCall.carried(call)
      if carried.phase != CarriedCall.Phase.idle {
        carried.retain()
        return carried
      }
      next = call.pointee.next
    }
    return nil
  }

  /// The call that the loop comes to last. The order of the list is not the loop's where two callers were on their way
  /// at a time, and the arguments of a caller must not overtake his earlier ones. Not one that is over, and about to
  /// leave the list. The caller holds the gate.
  private var newestOfLoop: HoppedCall.Pointer? {
    var newest: HoppedCall.Pointer?
    var place: UInt64 = 0
    var next = carrier.pointee.queue.first
    while let call = next {
      let carried = HoppedCall.carried(call)
      let phase = carried.phase
      if phase == CarriedCall.Phase.queued || phase == CarriedCall.Phase.running, carried.place > place {
        newest = call
        place = carried.place
      }
      next = call.pointee.next
    }
    return newest
  }

  private func replaceArguments(by copy: ArgumentCopy, _ call: HoppedCall.Pointer) -> Entry {
    guard let later = treadle_system_allocate(copy.size) else {
      drop(Failure.noMemory("call"))
      return .refused
    }
    copy.fill(later)
    var unused: UnsafeMutableRawPointer? = later
    var patience = Patience()
    while unused == later {
      if let entry = append(call, always: false) {
        treadle_system_free(later)
        return entry
      }
      carrier.pointee.gate.lock()
      if let newest = newestOfLoop {
        unused = newest.pointee.laterArguments
        newest.pointee.laterArguments = later
      }
      carrier.pointee.gate.unlock()
      // All that have room are only about to be queued.
      if unused == later { patience.wait() }
    }
    treadle_system_free(unused)
    return dropSilently()
  }
}
