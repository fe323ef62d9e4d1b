// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore

/// The end that receives. Under the port's lock, unless it says otherwise.
extension MessageRing {
  private var receivedSoFar: UInt32 { received.load(ordering: .relaxed) }
  /// A look that decides nothing: `pop` and `fallAsleep` look again.
  var isEmpty: Bool { word(.sent, ofWayTo: isServer).pointee.load(ordering: .relaxed) == receivedSoFar }

  /// Asks for the bell to be rung for the next frame. False if there is one already.
  func fallAsleep() -> Bool {
    word(.isAsleep, ofWayTo: isServer).pointee.store(1, ordering: .sequentiallyConsistent)
    return word(.sent, ofWayTo: isServer).pointee.load(ordering: .sequentiallyConsistent) == receivedSoFar
  }

  /// The same, and rings the bell if there is a frame already.
  func askForBell() {
    if !fallAsleep() { ringOwnBell() }
  }

  /// Where the other end says that it runs.
  var processorOfOther: UInt32 { word(.processor, ofWayTo: isServer).pointee.load(ordering: .relaxed) }

  /// Has the calling thread's loop look out for frames, in place of the bell. False if it may not.
  static func lookOut(_ ring: Pointer, by loop: Loop) -> Bool {
    let received = withUnsafePointer(to: ring.pointee.received) { UnsafeMutablePointer(mutating: $0) }
    let isLooking = loop.lookOut(
      sent: ring.pointee.word(.sent, ofWayTo: ring.pointee.isServer), received: received,
      object: UnsafeMutableRawPointer(ring), handOver: handOver)
    if !isLooking { return false }
    ring.pointee.references.add(1, ordering: .relaxed)
    ring.pointee.lookingLoop.store(loop.identity, ordering: .relaxed)
    ring.pointee.word(.isAsleep, ofWayTo: ring.pointee.isServer).pointee.store(0, ordering: .relaxed)
    return true
  }

  private static let handOver: Lookout.HandOver = { memory in
    let ring = memory.assumingMemoryBound(to: MessageRing.self)
    ring.pointee.lookingLoop.store(0, ordering: .relaxed)
    ring.pointee.askForBell()
    drop(ring)
  }

  /// Takes the next frame.
  func pop(_ out: inout MessageSocket.Received) -> MessageSocket.Receipt {
    let received = receivedSoFar
    let there = word(.sent, ofWayTo: isServer).pointee.load(ordering: .acquiring) &- received
    if there == 0 { return .nothing }
    if there > MessageRing.capacity || there & (MessageRing.unit &- 1) != 0 { return .closed }
    let area = area(ofWayTo: isServer)
    var head: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    memcpy(&head, area + Int(received & (MessageRing.capacity &- 1)), MessageFrame.size)
    if head.1 > UInt64(MessageRing.mostData) { return .closed }
    let length = Int(head.1)
    let room = MessageRing.room(for: length)
    if room > there { return .closed }
    guard let buffer = treadle_system_allocate(MessageFrame.size &+ length) else { return .noMemory }
    memcpy(buffer, &head, MessageFrame.size)
    let at = Int((received &+ UInt32(MessageFrame.size)) & (MessageRing.capacity &- 1))
    let first = min(length, Int(MessageRing.capacity) &- at)
    memcpy(buffer + MessageFrame.size, area + at, first)
    if first < length { memcpy(buffer + MessageFrame.size + first, area, length &- first) }
    let bytes = UnsafeRawBufferPointer(start: buffer, count: MessageFrame.size &+ length)
    guard let frame = MessageFrame.parse(bytes, size: bytes.count, files: 0, from: isServer ? .sender : .server) else {
      treadle_system_free(buffer)
      return .closed
    }
    // The reply to it is written there, by this processor.
    let next = self.area(ofWayTo: !isServer) + Int(sent & (MessageRing.capacity &- 1))
    treadle_system_prefetch_for_writing(next)
    treadle_system_prefetch_for_writing(next + 64)
    self.received.store(received &+ room, ordering: .relaxed)
    word(.received, ofWayTo: isServer).pointee.store(received &+ room, ordering: .releasing)
    out = MessageSocket.Received(frame: frame, payload: MessagePayload(in: buffer, size: length))
    return .frame
  }
}
