// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// Invalidating an item and waiting until its callbacks have ended.
extension Item {
  /// The caller holds the item, by the client's handle: what is left of our own references when that one is given up are the
  /// callbacks that run, and calls of other threads that look at it.
  package consuming func close(timeout: Int64, _ subject: StaticString) throws(Failure) {
    let result = cell.pointee.reference.retainForClient(generation)
    cell.pointee.reference.set(Reference.Mark.awaited)
    invalidate()
    let isInCallback = Loop.existing?.isInCallback(of: self) == true || ItemCall.isOnThisThread(self)
    drop()
    if result < 0 { throw Failure(result, subject, "has as many references as it can have") }
    defer { giveUp() }
    if isInCallback {
      throw Failure(Status.deadlock, subject, "is in one of its callbacks: waiting for its end would never end")
    }
    let until = Clock.after(timeout, from: Clock.now())
    while true {
      let seen = Rest.epoch
      if cell.pointee.reference.seen.own == 0 { return }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while a callback of the object still ran")
      }
      Rest.wait(seen, until: until)
    }
  }
}
