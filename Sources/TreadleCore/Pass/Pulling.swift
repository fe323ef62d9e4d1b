// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// Where the events go that are handed out, and how many of them are taken at once. The memory is the client's.
package struct EventRoom {
  private let events: UnsafeMutableRawPointer
  private let stride: Int
  private let capacity: Int
  package private(set) var count = 0

  @inline(__always)
  package init(_ events: UnsafeMutableRawPointer, stride: Int, capacity: Int) {
    self.events = events
    self.stride = stride
    self.capacity = capacity
  }

  @inline(__always)
  var isFull: Bool { count >= capacity }

  @inline(__always)
  mutating func append(_ event: Event) {
    let place = events + count &* stride
    if stride >= MemoryLayout<Event>.size {
      place.assumingMemoryBound(to: Event.self).initialize(to: event)
    } else {
      // The host was built for an older version: it gets the members that it has room for.
      var known = event
      known.structSize = stride
      withUnsafeBytes(of: known) { bytes in
        if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: stride) }
      }
    }
    count &+= 1
  }
}

/// Pull (ABI-10): a run that is left with each event of its host, who comes back for the next one, and nobody calls
/// him. It is the run that it would be otherwise, and goes on by the same `advance` and `next`; all that it has to
/// remember is in its frame.
///
/// Between two calls the frame is on the loop's stack, as it is in a callback. The invariant: as long as the innermost
/// run is left so, `goingOn` differs from every tag; so a run around it, in whose callback the host has left it,
/// notices as soon as that has returned, before anything else, and ends it.
extension Loop {
  /// Begins a run for a host, under a number that is never given again; false with its result if it is over at once.
  /// Owner.
  func beginPull(
    _ host: FrameHost, _ number: UInt64, _ name: ModeName?, timeout: Int64, flags: UInt32, _ result: inout Int32
  ) throws(Failure) -> Bool {
    guard let frame = try begin(name, timeout: timeout, flags: flags, &result) else { return false }
    frame.pointee.host = host
    frame.pointee.number = number
    leave(frame)
    return true
  }

  /// Goes on with the run of a number until there are events for its host, or it is over, when `number` is 0. failed:
  /// 0, or which of the events that were handed out the host has not completed; those behind it have not begun.
  package func next(_ number: inout UInt64, failed: Int, _ room: inout EventRoom) throws(Failure) -> Int32 {
    guard isCurrent else { throw Loop.runsElsewhere }
    if isOfParent {
      number = 0
      throw Runtime.forkedFailure
    }
    guard let frame = try findLeft(number) else {
      number = 0
      throw Failure(Status.stale, "run", "is over")
    }
    if failed > frame.pointee.handedCount &+ 1 || failed != 0 && frame.pointee.callout.kind == .none {
      throw Failure(Status.argument, "failed", "is not the number of an event that the last call returned")
    }
    if self.frame != frame { endRunsLeft(inside: frame) }
    frame.pointee.isLeft = false
    state.goingOn = state.life
    endHandedOut(frame, failed: failed)
    // No exception of a client's leaves the run (THR-19).
    withUnsafeMutablePointer(to: &room) { room in
      var fetching = Fetching(loop: self, frame: frame, room: room)
      withUnsafeMutablePointer(to: &fetching) {
        treadle_system_call_clients({ $0?.assumingMemoryBound(to: Fetching.self).pointee.run() }, $0)
      }
    }
    if isOfParent {
      number = 0
      throw Runtime.forkedFailure
    }
    if room.count != 0 {
      leave(frame)
      return Status.ok
    }
    number = 0
    return try pop(frame)
  }

  private struct Fetching {
    let loop: Loop
    let frame: Frame.Pointer
    let room: UnsafeMutablePointer<EventRoom>

    func run() { loop.fetch(frame, &room.pointee) }
  }

  /// The host gets the control back, and the run stays.
  func leave(_ frame: Frame.Pointer) {
    frame.pointee.isLeft = true
    state.goingOn = Loop.left
  }

  /// The run of a number, which is left, as are all inside of it; nil for one that is over.
  @inline(__always)
  private func findLeft(_ number: UInt64) throws(Failure) -> Frame.Pointer? {
    if let frame, frame.pointee.number == number, frame.pointee.isLeft { return frame }
    return try findAmongAll(number)
  }

  @inline(never)
  private func findAmongAll(_ number: UInt64) throws(Failure) -> Frame.Pointer? {
    var frame = self.frame
    var isInUse = false
    while let run = frame, run.pointee.number != number {
      if !run.pointee.isLeft { isInUse = true }
      frame = run.pointee.outer
    }
    guard let frame, number != 0 else { return nil }
    if isInUse || !frame.pointee.isLeft {
      throw Failure(Status.state, "run", "cannot continue inside of a callback that it, or a nested run, is calling")
    }
    return frame
  }

  private func fetch(_ frame: Frame.Pointer, _ room: inout EventRoom) {
    _ = pump(frame) {
      while nextOfAny(frame) {
        if handOut(frame, &room) { return false }
        if !(Watch.isObserved ? callWatched(frame) : call(frame.pointee.callout.kind, frame)) { return false }
      }
      return true
    }
  }

  // MARK: Runs that are left

  /// Ends the runs that hosts have left inside of this one, as those of a thread that ends: what they have not reached
  /// is put back, and nobody is told. True if there were any. In the child of a fork they stay as they are, like the
  /// whole loop.
  @discardableResult
  func endRunsLeft(inside frame: Frame.Pointer) -> Bool {
    if self.frame == frame || isOfParent { return false }
    while let inner = self.frame, inner != frame {
      settle(inner, .abandoned)
      abandonBatch(inner)
      // Dropping calls clients, and one of them may have begun a run and left it open: that is the innermost now.
      if self.frame == inner { _ = unlink(inner) }
    }
    state.goingOn = state.life
    return true
  }
}
