// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Carriers of requests, which the scope takes out of the queues that they are in.
extension Loop {
  /// Somebody will wait for a carrier in this loop's queue.
  func placeWork(_ work: ScopeWork.Pointer, _ node: RequestJob.Pointer) {
    let place = ScopeWork.Place(
      UnsafeMutableRawPointer(node), in: UnsafeMutableRawPointer(address),
      takeOut: { loop, node in Loop(loop).takeOut(RequestJob.job(node.assumingMemoryBound(to: RequestJob.self))) },
      endTaken: { node, _ in
        RequestJob.finish(node.assumingMemoryBound(to: RequestJob.self), RequestJob.Outcome.dropped)
      })
    ScopeWork.setPlace(work, place)
  }

  /// A carrier will be performed by a timer of this loop, which otherwise would wait for its date. The timer's request
  /// is its thread's alone, which ends it there.
  func placeWork(_ work: ScopeWork.Pointer, _ timer: Item) {
    guard let carrier = UnsafeMutableRawPointer(bitPattern: timer.handle.bits),
      let queue = UnsafeMutableRawPointer(bitPattern: handle.bits)
    else { return }
    let place = ScopeWork.Place(
      carrier, in: queue, takeOut: { _, _ in true },
      endTaken: { timer, loop in
        if Loop.existing?.handle.bits == UInt(bitPattern: loop) { return Loop.endTimer(timer) }
        _ = try? Scope.outside { () throws(Failure) in
          try Loop.post(UInt(bitPattern: loop), unsafeBitCast(Loop.endTimer, to: UnsafeMutableRawPointer.self), timer)
        }
      })
    ScopeWork.setPlace(work, place)
  }

  private static let endTimer: WorkItem.Release = { timer in
    try? Item.invalidate(.timer, UInt(bitPattern: timer), "timer")
  }
}
