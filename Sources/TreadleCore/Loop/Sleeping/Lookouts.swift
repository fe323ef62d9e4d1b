// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A count in memory that another process writes, and of which it rings a bell only if it was asked to: the ring of a
/// message port. A loop that was called by it from another processor looks at the count before it sleeps, in place of
/// asking for the bell.
package struct Lookout: BitwiseCopyable {
  package typealias HandOver = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// What the other side writes, and how much of it was received here: there is something to receive if they differ.
  let sent: UnsafeMutablePointer<Atomic<UInt32>>
  let received: UnsafeMutablePointer<Atomic<UInt32>>
  /// Held.
  let object: UnsafeMutableRawPointer
  /// Asks for the bell, rings it if there is something already, and drops the object.
  let handOver: HandOver
  /// The item that receives, a mode that has it, and its registration there.
  let tag: UInt32
  var mode: UInt32
  var data: EpollData
  /// It was reported, when so much was received.
  var reportedAt: UInt32 = 0
  var isReported = false

  /// Whoever receives loads the count again, and acquires what it counts.
  @inline(__always)
  var hasNews: Bool { sent.pointee.load(ordering: .relaxed) != received.pointee.load(ordering: .relaxed) }
}

/// The lookouts of a loop. Owner.
///
/// The invariant: of each count the other side was asked for the bell, or the one loop that receives it has a lookout
/// for it; and before a loop waits for the kernel it hands over all its lookouts to it, and before it asks the kernel
/// without waiting those of other modes. So the words of the other process decide when this one looks, not whether.
extension Loop {
  private static let mostLookouts = 4
  /// So many times in a row the loop goes on with what it found in memory; then it asks the kernel for descriptors as
  /// well.
  private static let mostLooks: UInt32 = 16

  /// In the child of a fork, where a signal handler may have forked, what is looked at is the parent's, and not there.
  @inline(__always)
  var hasLookouts: Bool { state.lookoutCount != 0 && treadle_system_tag() == state.life }

  /// Another process acts, on a processor that it says itself: a hint, of which a wrong one costs a wait in vain.
  package func noteCaller(onProcessor hint: UInt32) { state.callers.note(hint) }

  /// Looks out for what an item receives in a mode; takes over a reference to the object. False if the loop may not, or
  /// has enough to look at.
  func addLookout(
    of item: Item, in mode: Mode, sent: UnsafeMutablePointer<Atomic<UInt32>>,
    received: UnsafeMutablePointer<Atomic<UInt32>>,
    object: UnsafeMutableRawPointer, handOver: @escaping Lookout.HandOver
  ) -> Bool {
    guard state.callers.mayPay, state.lookoutCount < Loop.mostLookouts, let data = registration(of: item, in: mode),
      let room = roomForLookouts()
    else { return false }
    room[Int(state.lookoutCount)] = Lookout(
      sent: sent, received: received, object: object, handOver: handOver, tag: item.tag, mode: mode.slot, data: data)
    state.lookoutCount &+= 1
    return true
  }

  /// A run of a mode is about to begin that is to receive from an item: adds it, unless it is there, and looks out for
  /// it in that mode, which is the owner's until it names another one, or a client is called. Nil if there is none.
  package func attend(_ item: Item, in name: ModeName, isAdded: inout Bool) throws(Failure) -> Mode? {
    var mode = try ownMode(name)
    if mode.map({ item.isIn($0) }) != true {
      isAdded = try add(item, name) == Status.ok
      mode = try ownMode(name)
    }
    if hasLookouts, let mode { moveLookouts(of: item, to: mode, isNew: isAdded) }
    return mode
  }

  private func moveLookouts(of item: Item, to mode: Mode, isNew: Bool) {
    var index: UInt32 = 0
    while let lookout = lookout(index) {
      index &+= 1
      if lookout.pointee.tag != item.tag || !isNew && lookout.pointee.mode == mode.slot { continue }
      if let data = registration(of: item, in: mode) {
        lookout.pointee.mode = mode.slot
        lookout.pointee.data = data
        lookout.pointee.isReported = false
      } else {
        index &-= 1
        handOver(index)
      }
    }
  }

  private func roomForLookouts() -> UnsafeMutablePointer<Lookout>? {
    if let room = state.lookouts { return room }
    let room = treadle_system_allocate(MemoryLayout<Lookout>.stride &* Loop.mostLookouts)?
      .bindMemory(to: Lookout.self, capacity: Loop.mostLookouts)
    state.lookouts = room
    return room
  }

  /// By what the kernel tells of an item in a mode; nil if no other loop may receive from it but this one, or it is not
  /// watched.
  private func registration(of item: Item, in mode: Mode) -> EpollData? {
    item.lock()
    defer { item.unlock() }
    var next: Item? = item
    while let member = next {
      if let mode = member.mode, !mode.isRecord, !mode.isOf(self) { return nil }
      next = item.following(member)
    }
    guard let member = item.member(of: mode) else { return nil }
    return item.withLoopLocked(member) { mode in
      guard let registrations = mode?.poller?.state.registrations,
        let registration = registrations[Int(member.watched.number)],
        registration.member == member.slot, registration.serial != 0
      else { return nil }
      return EpollData(number: member.watched.number, serial: registration.serial)
    }
  }

  @inline(__always)
  private func lookout(_ index: UInt32) -> UnsafeMutablePointer<Lookout>? {
    index < state.lookoutCount ? state.lookouts.map { $0 + Int(index) } : nil
  }

  /// Whether there is something to receive in a mode.
  func hasNews(_ mode: Mode) -> Bool {
    var index: UInt32 = 0
    while let lookout = lookout(index) {
      if lookout.pointee.mode == mode.slot && lookout.pointee.hasNews { return true }
      index &+= 1
    }
    return false
  }

  /// Has the pass call what there is to receive, in place of a sleep. False if there is nothing.
  @inline(never)
  func reportNews(_ mode: Mode, asked: inout Bool) -> Bool {
    guard let poller = mode.poller, hasNews(mode) else { return false }
    state.looks &+= 1
    if state.looks >= Loop.mostLooks {
      asked = mode.waitForDescriptors(poller, until: nil) >= 0
    } else {
      poller.removeTakenEvents()
      appendNews(mode, poller)
    }
    return poller.hasEvents
  }

  /// Behind what the kernel reported.
  func appendNews(_ mode: Mode, _ poller: Poller) {
    var index: UInt32 = 0
    while let lookout = lookout(index) {
      index &+= 1
      if lookout.pointee.mode != mode.slot || !lookout.pointee.hasNews { continue }
      let received = lookout.pointee.received.pointee.load(ordering: .relaxed)
      if lookout.pointee.isReported && lookout.pointee.reportedAt == received {
        // Nothing was received: the item has left the mode, or cannot.
        index &-= 1
        handOver(index)
      } else {
        lookout.pointee.isReported = true
        lookout.pointee.reportedAt = received
        poller.report(lookout.pointee.data, Readiness.kernelReadable)
      }
    }
  }

  /// Before the kernel is asked or waited for: from here on it tells of those that the loop does not look at.
  @inline(never)
  func handOverLookouts(but mode: Mode?) {
    state.looks = 0
    var index: UInt32 = 0
    while let lookout = lookout(index) {
      if let mode, lookout.pointee.mode == mode.slot { index &+= 1 } else { handOver(index) }
    }
  }

  /// The last one takes its place.
  private func handOver(_ index: UInt32) {
    guard let lookout = lookout(index)?.pointee, let last = self.lookout(state.lookoutCount &- 1)?.pointee else {
      return
    }
    state.lookouts?[Int(index)] = last
    state.lookoutCount &-= 1
    lookout.handOver(lookout.object)
  }

  /// The object ends: if it is among the calling thread's lookouts, it is no longer.
  package static func endLookout(_ object: UnsafeMutableRawPointer) {
    guard let loop = existing, loop.hasLookouts else { return }
    var index: UInt32 = 0
    while let lookout = loop.lookout(index) {
      if lookout.pointee.object == object { return loop.handOver(index) }
      index &+= 1
    }
  }

  /// The thread is gone.
  func closeLookouts() {
    if hasLookouts { handOverLookouts(but: nil) }
    state.lookoutCount = 0
    treadle_system_free(state.lookouts)
    state.lookouts = nil
  }
}
