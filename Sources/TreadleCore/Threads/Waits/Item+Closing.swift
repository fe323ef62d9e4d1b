// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// Invalidating an item and waiting until its callbacks have ended.
extension Item {
  /// The caller holds the item, by the client's handle, and gives that up before the wait: what is left of our own
  /// references then are the callbacks that run, and calls of other threads that look at it. Nothing keeps the item
  /// during the wait, not even a reference of ours that a client could return: its memory stays, and says which life is
  /// in it.
  package consuming func close(timeout: Int64, _ subject: StaticString) throws(Failure) {
    let generation = self.generation
    cell.reference.set(Reference.Mark.awaited)
    droppedIfThreadEnds { invalidate() }
    let isInCallback = isInCallbackHere
    let target = RestTarget(handle: handle.bits)
    drop()
    if isInCallback {
      throw Failure(Status.deadlock, subject, "is closed from inside one of its callbacks: the wait would never end")
    }
    let until = Clock.after(timeout, from: Clock.now())
    while true {
      let seen = Rest.epoch
      if cell.reference.isAtRest(generation) { return }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while a callback of the object still ran")
      }
      try target.wait(seen, until: until)
    }
  }

  /// Whether one of its callbacks is on the calling thread's stack.
  package var isInCallbackHere: Bool {
    Loop.existing?.isInCallback(of: self) == true || ObjectCall.isHere(handle.bits) || isFiredOnThisThread
  }

  /// Its scope is closed: it becomes invalid, and no client owns it any more. True if one of its callbacks is on the
  /// calling thread's stack. The reference that holds it is dropped here.
  package consuming func endInScope() -> Bool {
    cell.reference.set(Reference.Mark.awaited)
    invalidateInScope()
    let isHere = isInCallbackHere
    leaveClients()
    return isHere
  }

  /// The client may end the thread: what follows is done all the same.
  private func invalidateInScope() {
    ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Item.self).pointee.leaveClients() }) {
      invalidate()
    }
  }

  private func leaveClients() {
    cell.reference.abandonClients()
    drop()
  }
}
