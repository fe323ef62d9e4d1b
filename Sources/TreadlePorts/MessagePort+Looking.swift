// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase
import TreadleCore

/// Which rings of a port have their bells left out, since the loop that receives looks out for frames itself
/// (`Lookout`).
///
/// That is so only while every mode that has the port is of that one loop. The loop first writes itself into
/// `state.lookingLoop`, then looks for modes of other loops. A thread that adds the port to a mode first adds it, then
/// reads that word (`joining`). So one of the two sees the other, and asks for all bells. The lock is held, unless a
/// comment says otherwise.
extension MessagePort {
  /// So many messages in a row come from rings that are looked at; then the kernel is asked for others.
  private static let mostInARow: UInt32 = 16

  /// Whether the bell of a ring is left out from here on, by the calling thread's loop, whose innermost run calls the
  /// port. `mark`: that of the ring's connection.
  @inline(__always)
  func leavesOutBell(_ ring: MessageRing.Pointer, _ mark: UInt64, _ loop: Loop) -> Bool {
    if isLooked(ring, by: loop) { return true }
    return ring.pointee.lookingLoop.load(ordering: .relaxed) != loop.identity && startLooking(ring, mark, loop)
  }

  /// Whether its bell is left out by the calling thread's loop.
  @inline(__always)
  func isLooked(_ ring: MessageRing.Pointer, by loop: Loop) -> Bool {
    state.lookingLoop == loop.identity && ring.pointee.lookingLoop.load(ordering: .relaxed) == loop.identity
  }

  @inline(never)
  private func startLooking(_ ring: MessageRing.Pointer, _ mark: UInt64, _ loop: Loop) -> Bool {
    let before = state.lookingLoop
    state.lookingLoop = loop.identity
    if MessageRing.lookOut(ring, by: loop) {
      if !isRemote { state.looked.add(mark) { isLooked($0, by: loop) && $0 != mark } }
      return true
    }
    // One that has other rings of the port in view has them still.
    if before != loop.identity { state.lookingLoop = 0 }
    return false
  }

  private func isLooked(_ mark: UInt64, by loop: Loop) -> Bool {
    guard let place = place(mark), let ring = state.connections[place]?.ring else { return false }
    return isLooked(ring, by: loop)
  }

  /// Takes the reply that the calling thread's loop has found in the ring. False if there is none, or it is the
  /// socket's turn. Takes the lock.
  func takeLookedReply(_ loop: Loop) -> Bool {
    var received = MessageSocket.Received()
    lock()
    guard let ring = state.ring, isLooked(ring, by: loop), isTurnOfLooked(), ring.pointee.pop(&received) == .frame
    else {
      unlock()
      return false
    }
    loop.noteCaller(onProcessor: ring.pointee.processorOfOther)
    unlock()
    hand(&received)
    return true
  }

  /// Whether the next message is to come from a ring that is looked at; if not, the kernel is to be asked.
  func isTurnOfLooked() -> Bool {
    state.looksInARow &+= 1
    if state.looksInARow <= MessagePort.mostInARow { return true }
    state.looksInARow = 0
    return false
  }

  /// The next connection of a local port whose ring the calling thread's loop looks at, and has a frame.
  func nextLooked(_ loop: Loop) -> (place: Int, mark: UInt64)? {
    for _ in 0..<state.looked.count {
      let mark = state.looked.next()
      guard let place = place(mark), let connection = state.connections[place], let ring = connection.ring else {
        continue
      }
      if connection.replies == nil && !connection.isStarved && !ring.pointee.isEmpty && isLooked(ring, by: loop) {
        return (place, mark)
      }
    }
    return nil
  }

  /// A port has joined a mode of a loop. No lock is held.
  static let joining: Context.Joining = { memory, loop in
    if let memory { MessagePort(memory).askForBells(unlessBy: loop) }
  }

  private func askForBells(unlessBy loop: UInt) {
    if isForked { return }
    lock()
    defer { unlock() }
    if state.lookingLoop == 0 || state.lookingLoop == loop { return }
    state.lookingLoop = 0
    state.ring?.pointee.askForBell()
    for connection in state.connections.elements { connection.ring?.pointee.askForBell() }
  }
}

/// The connections of a local port whose rings its loop looks at, or has looked at: as many as a loop may look at.
struct LookedConnections: BitwiseCopyable {
  private var marks = InlineArray<4, UInt64>(repeating: 0)
  private(set) var count = 0
  private var last = 0

  /// The next one in turn.
  mutating func next() -> UInt64 {
    last = last &+ 1 < count ? last &+ 1 : 0
    return marks[last]
  }

  /// In place of those that are no more.
  mutating func add(_ mark: UInt64, _ isStill: (UInt64) -> Bool) {
    var kept = 0
    for index in 0..<count where isStill(marks[index]) {
      marks[kept] = marks[index]
      kept &+= 1
    }
    if kept == marks.count { kept &-= 1 }
    marks[kept] = mark
    count = kept &+ 1
  }
}
