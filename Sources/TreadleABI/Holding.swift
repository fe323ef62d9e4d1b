// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
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

/// References that a function copies into its caller's buffer: to all that it has room for, or to none.
struct CopiedReferences {
  private let buffer: ClientBuffer<UnsafeMutableRawPointer?>
  private let subject: StaticString
  /// How many objects there are, whether or not there was room.
  private(set) var count = 0

  init(_ start: UnsafeMutableRawPointer?, _ capacity: Int, _ subject: StaticString) throws(Failure) {
    self.subject = subject
    buffer = try ClientBuffer(start?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self), capacity, subject)
  }

  /// Adds an object; one that has ended meanwhile is left out. After a failure the caller gives the references back.
  mutating func add(_ kind: Kind, _ handle: Handle) throws(Failure) {
    if let place = buffer.place(count) {
      do throws(Failure) {
        try Slab(kind).retainForClient(handle.bits, subject)
      } catch {
        if error.status == Status.range {
          throw Failure(Status.range, subject, "gets an object with as many references as it can have")
        }
        return
      }
      place.pointee = UnsafeMutableRawPointer(bitPattern: handle.bits)
    }
    count &+= 1
  }

  /// Calls a client, if a reference is the last one.
  func giveBack() {
    var index = 0
    while index < count, let place = buffer.place(index) {
      _ = treadle_release(place.pointee)
      place.pointee = nil
      index &+= 1
    }
  }
}
