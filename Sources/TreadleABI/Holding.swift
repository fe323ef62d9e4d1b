// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
import TreadleBase

// Objects are held while a call looks at them, whatever other threads release meanwhile. Generic over the
// result here, in the module of the callers, so that nothing generic is left at run time.

extension Item {
  @inline(__always)
  static func holding<Result>(
    _ kind: Kind, _ handle: UInt, _ subject: StaticString, _ body: (Item) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let item = try Item.hold(kind, handle, subject)
    defer { item.letGo() }
    return try body(item)
  }
}

extension Loop {
  @inline(__always)
  static func holding<Result>(
    _ handle: UInt, _ subject: StaticString, _ body: (Loop) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // The calling thread's own loop does not go away during the call.
    if let loop = Loop.existing, loop.handle.bits == handle { return try body(loop) }
    let loop = try Loop.hold(handle, subject)
    defer { loop.letGo() }
    return try loop.droppedIfThreadEnds { () throws(Failure) in try body(loop) }
  }
}
