// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore

/// One end of the memory that the two sides of a connection share: a ring of frames each way, and a bell each way, an
/// eventfd. The other side may write anything into the memory at any time. So:
/// - The own indices are kept outside of the memory, which has copies of them for the other end.
/// - An index of the other end is read once, and checked before it is used.
/// - A frame is copied before it is parsed.
/// - A frame begins at a multiple of 32 bytes, so its head is in one piece; its data may go on at the beginning of the
///   ring.
struct MessageRing: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<MessageRing>

  /// What came of pushing a frame.
  enum Outcome {
    case done
    /// There is no room.
    case full
    /// The other end says what cannot be.
    case broken
  }

  /// Bytes of frames, each way; a power of 2.
  static let capacity: UInt32 = 65536
  /// The most data of a frame that goes by the ring: a larger one would fill it.
  static let mostData = 16384
  static let unit: UInt32 = 32
  private static let page = 4096
  static let size = page + 2 * Int(capacity)

  let memory: UnsafeMutableRawPointer
  let isServer: Bool
  /// Rung by the other end, and watched by this one for edges.
  let ownBell: MessageSocket
  let otherBell: MessageSocket
  /// How many bytes this end has received and sent: what the memory says of that is for the other end. The port's lock;
  /// a loop that looks out for frames reads the first without.
  let received = Atomic<UInt32>(0)
  var sent: UInt32 = 0
  /// How many lent files this end has copied, and sent; the file that it has sent last; whether a thread has that in
  /// hand. The port's lock.
  private var copied: UInt32 = 0
  private var lent: UInt32 = 0
  private var kept = MessageSocket.none
  private var isLending = false
  /// The port's, and one of a loop that looks out for frames.
  let references = Atomic<UInt32>(1)
  /// The loop that looks out for frames (`Lookout`), as an address; 0 for none. Written by its thread.
  let lookingLoop = Atomic<UInt>(0)

  // MARK: Its life

  /// A new one, with the file that the other end maps, which the caller closes; nil if anything that it takes is
  /// refused, or half of the process's descriptors are used.
  static func make() -> (ring: Pointer, file: MessageSocket)? {
    let file = MessageSocket(number: treadle_system_ring_file(size))
    let bells = (MessageSocket(number: treadle_system_bell()), MessageSocket(number: treadle_system_bell()))
    if treadle_system_descriptor_is_late(bells.1.number) {
      bells.0.close()
      bells.1.close()
    } else if let ring = make(file, bells.0, bells.1, isServer: true) {
      return (ring, file)
    }
    file.close()
    return nil
  }

  /// The other end of one that has come by a connection. The descriptors are this function's.
  static func adopt(_ file: Int32, own: Int32, other: Int32) -> Pointer? {
    let bells = (MessageSocket(number: own), MessageSocket(number: other))
    defer { treadle_system_socket_close(file) }
    guard treadle_system_bell_is_one(own), treadle_system_bell_is_one(other) else {
      bells.0.close()
      bells.1.close()
      return nil
    }
    return make(MessageSocket(number: file), bells.0, bells.1, isServer: false)
  }

  /// The bells are this function's.
  private static func make(_ file: MessageSocket, _ own: MessageSocket, _ other: MessageSocket, isServer: Bool)
    -> Pointer?
  {
    guard file.number >= 0, own.number >= 0, other.number >= 0,
      let room = treadle_system_allocate(MemoryLayout<MessageRing>.size)
    else {
      own.close()
      other.close()
      return nil
    }
    guard let memory = treadle_system_ring_map(file.number, size) else {
      treadle_system_free(room)
      own.close()
      other.close()
      return nil
    }
    let ring = room.bindMemory(to: MessageRing.self, capacity: 1)
    ring.initialize(to: MessageRing(memory: memory, isServer: isServer, ownBell: own, otherBell: other))
    ring.pointee.word(.copied, ofWayTo: isServer).pointee.store(1, ordering: .relaxed)
    return ring
  }

  private init(memory: UnsafeMutableRawPointer, isServer: Bool, ownBell: MessageSocket, otherBell: MessageSocket) {
    self.memory = memory
    self.isServer = isServer
    self.ownBell = ownBell
    self.otherBell = otherBell
  }

  /// Sends the end that is not this one's by a connection, with the file of `make`.
  func send(_ file: MessageSocket, by socket: MessageSocket) -> MessageSocket.Outcome {
    socket.send(
      MessageFrame(kind: MessageFrame.Kind.ring, length: 0), passing: (file.number, otherBell.number, ownBell.number))
  }

  /// The port's reference goes. A loop of another thread that looks out for frames drops its own when it comes to that.
  static func end(_ ring: Pointer) {
    Loop.endLookout(ring)
    drop(ring)
  }

  static func drop(_ ring: Pointer) {
    if ring.pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    ring.pointee.ownBell.close()
    ring.pointee.otherBell.close()
    ring.pointee.kept.close()
    treadle_system_ring_unmap(ring.pointee.memory, size)
    treadle_system_free(ring)
  }

  // MARK: What both ends see

  /// A cache line for each end, first of the way to the server, then of the way to the sender.
  enum Word: Int {
    /// Bytes that were sent; the sending end's, as the next one.
    case sent = 0
    /// 1 + the processor that the sending end ran on; 0: not said. A hint.
    case processor = 4
    /// Bytes that were received; the receiving end's, as the next two.
    case received = 64
    /// The receiving end has found nothing, and wants the bell to be rung for the next frame.
    case isAsleep = 128
    /// Frames that were received by the socket.
    case taken = 192
    /// 1 + how many lent files the receiving end has copied; 0 if it knows of none.
    case copied = 196
    /// Once, of both ways: the sender has its end.
    case isReady = 512
  }
  private static let lane = 256

  @inline(__always)
  func word(_ word: Word, ofWayTo server: Bool) -> UnsafeMutablePointer<Atomic<UInt32>> {
    (memory + word.rawValue + (server ? 0 : MessageRing.lane)).assumingMemoryBound(to: Atomic<UInt32>.self)
  }
  func area(ofWayTo server: Bool) -> UnsafeMutableRawPointer {
    memory + MessageRing.page + (server ? 0 : Int(MessageRing.capacity))
  }

  /// The sender has its end, so the server may answer by the ring. No more is said by it: what either end writes into
  /// the memory is ordered by the words for that.
  var isReady: Bool { word(.isReady, ofWayTo: true).pointee.load(ordering: .relaxed) != 0 }
  func setReady() { word(.isReady, ofWayTo: true).pointee.store(1, ordering: .relaxed) }

  /// How many of the sender's frames the server has received by the socket: the way from the one to the other is one
  /// sequence, since the sender puts nothing into the ring while a frame is in the socket (`MessagePort.offer`), and
  /// the server looks into the ring before it receives a frame that it knows to be in the socket (`MessagePort.serve`).
  /// The count orders nothing: a frame that the sender puts into the ring because of it is not found by a look of the
  /// server's that was before, since that one acquires what it finds.
  var taken: UInt32 { word(.taken, ofWayTo: true).pointee.load(ordering: .relaxed) }
  func setTaken(_ count: UInt32) { word(.taken, ofWayTo: true).pointee.store(count, ordering: .relaxed) }

  /// Has the own watcher look again, behind all others that it has to look at.
  func ringOwnBell() { _ = treadle_system_bell_ring(ownBell.number) }

  static func room(for length: Int) -> UInt32 {
    (UInt32(truncatingIfNeeded: MessageFrame.size &+ length) &+ (unit &- 1)) & ~(unit &- 1)
  }

  // MARK: Sending

  /// Puts a frame into the ring, and rings the bell if the other end sleeps. No wake-up is lost: this end stores how
  /// much it has sent and then loads whether the other one sleeps; that one stores that it sleeps and then loads how
  /// much was sent.
  mutating func push(_ frame: MessageFrame, _ data: UnsafeRawPointer?) -> Outcome {
    if frame.length < 0 || frame.length > MessageRing.mostData { return .full }
    let used = sent &- word(.received, ofWayTo: !isServer).pointee.load(ordering: .acquiring)
    if used > MessageRing.capacity { return .broken }
    let room = MessageRing.room(for: frame.length)
    if room > MessageRing.capacity &- used { return .full }
    let area = area(ofWayTo: !isServer)
    frame.write(
      to: UnsafeMutableRawBufferPointer(start: area + Int(sent & (MessageRing.capacity &- 1)), count: MessageFrame.size)
    )
    if let data, frame.length > 0 {
      let at = Int((sent &+ UInt32(MessageFrame.size)) & (MessageRing.capacity &- 1))
      let first = min(frame.length, Int(MessageRing.capacity) &- at)
      memcpy(area + at, data, first)
      if first < frame.length { memcpy(area, data + first, frame.length &- first) }
    }
    sent &+= room
    let processor = word(.processor, ofWayTo: !isServer)
    if processor.pointee.load(ordering: .relaxed) != AdaptiveSpin.processor {
      processor.pointee.store(AdaptiveSpin.processor, ordering: .relaxed)
    }
    word(.sent, ofWayTo: !isServer).pointee.store(sent, ordering: .sequentiallyConsistent)
    let isAsleep = word(.isAsleep, ofWayTo: !isServer)
    if isAsleep.pointee.load(ordering: .sequentiallyConsistent) != 0 {
      isAsleep.pointee.store(0, ordering: .relaxed)
      _ = treadle_system_bell_ring(otherBell.number)
    }
    return .done
  }

  // MARK: Files that are lent

  /// The file for the next large frame, which is the caller's until `endLending`; none if there is no such file yet.
  /// Nil if the other end has yet to copy what is in it, or does not copy.
  mutating func beginLending() -> MessageSocket? {
    if isLending || word(.copied, ofWayTo: !isServer).pointee.load(ordering: .acquiring) != lent &+ 1 { return nil }
    isLending = true
    defer { kept = .none }
    return kept
  }

  mutating func endLending(_ file: MessageSocket, isSent: Bool) {
    isLending = false
    if isSent { lent &+= 1 }
    kept = file
  }

  /// This end has copied what was in a file of the other end's.
  mutating func countCopy() {
    copied &+= 1
    word(.copied, ofWayTo: isServer).pointee.store(copied &+ 1, ordering: .releasing)
  }
}
