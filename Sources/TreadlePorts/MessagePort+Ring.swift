// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase
import TreadleCore

/// How the two sides of a connection come to a ring, and what goes by it.
///
/// The sender asks behind its hello, by a call of a function that no port can export. A server that knows of no rings
/// replies that there is no such function; one that has none left says so; another one sends the sender's end. All of
/// that goes by the socket, which stays: for frames larger than `MessageRing.mostData` or with a file, for all others
/// while the ring is full, for the end.
extension CallData {
  /// Not UTF-8, so no function can have the name.
  private static let ringName: (UInt8, UInt8, UInt8, UInt8, UInt8) = (0xFF, 0x72, 0x69, 0x6E, 0x67)
  static let ringQuestionSize = head + 6

  static func writeRingQuestion(to room: UnsafeMutableRawBufferPointer) {
    if room.count < ringQuestionSize { return }
    var bytes = (ringName, UInt8(0x76))
    room.storeBytes(of: UInt16(5), as: UInt16.self)
    room.storeBytes(of: UInt16(1), toByteOffset: 2, as: UInt16.self)
    room.storeBytes(of: UInt32(0), toByteOffset: 4, as: UInt32.self)
    if let start = room.baseAddress { memcpy(start + head, &bytes, 6) }
  }

  static func isRingQuestion(_ received: MessageSocket.Received) -> Bool {
    guard received.frame.kind == MessageFrame.Kind.call, received.frame.serial == MessageFrame.ringSerial,
      let data = CallData(received.payload.data, received.payload.size), data.name.count == 5,
      let name = data.name.baseAddress
    else { return false }
    var wanted = ringName
    return memcmp(name, &wanted, 5) == 0
  }
}

/// A server's side. The lock is held.
extension MessagePort {
  /// So many senders of a port have a ring; any others have their sockets. So does another user: in memory that both
  /// can write, an access waits while the other one has pages of it taken away, and a close of an eventfd waits for
  /// each set that watches it.
  private static let mostRings = 64
  /// In the mark of a connection: its bell.
  static let bell: UInt64 = 1 << 31
  static let edges: UInt32 = 1 << 31

  /// A sender asks for a ring, which it does once.
  func offerRing(_ place: Int) {
    guard let connection = state.connections[place] else { return }
    if connection.hasAsked { return disconnect(place) }
    change(place) { $0.hasAsked = true }
    if sendRing(place, connection) { return }
    var answer: UInt64 = 0
    withUnsafeMutableBytes(of: &answer) { answer in
      guard let bytes = answer.baseAddress else { return }
      CallData.writeHead(Status.notFound, to: bytes)
      let frame = MessageFrame(kind: MessageFrame.Kind.reply, length: CallData.head, serial: MessageFrame.ringSerial)
      _ = try? send(frame, place, bytes, .none)
    }
  }

  private func sendRing(_ place: Int, _ connection: MessageConnection) -> Bool {
    if state.ringCount >= MessagePort.mostRings || connection.replies != nil || isStranger(connection.user) {
      return false
    }
    guard let (ring, file) = MessageRing.make() else { return false }
    defer { file.close() }
    ring.pointee.setTaken(connection.taken)
    let mark = MessagePort.mark(place, connection.generation) | MessagePort.bell
    if watch(ring.pointee.ownBell, MessagePort.wantsMessages | MessagePort.edges, mark) >= 0,
      case .done = ring.pointee.send(file, by: connection.socket)
    {
      change(place) { $0.ring = ring }
      state.ringCount &+= 1
      return true
    }
    unwatch(ring.pointee.ownBell)
    MessageRing.end(ring)
    return false
  }

  func dropRing(_ place: Int) {
    guard let ring = state.connections[place]?.ring else { return }
    change(place) { $0.ring = nil }
    state.ringCount &-= 1
    unwatch(ring.pointee.ownBell)
    MessageRing.end(ring)
  }

  /// What a connection's ring has next. `isRung`: the kernel has told of its bell, and does not tell again before that
  /// is rung; or the bell was left out.
  func receiveByRing(
    _ ring: MessageRing.Pointer, _ mark: UInt64, _ received: inout MessageSocket.Received, isRung: Bool
  ) -> MessageSocket.Receipt {
    var receipt = ring.pointee.pop(&received)
    let loop = Loop.existing
    if receipt == .frame, let loop {
      loop.noteCaller(onProcessor: ring.pointee.processorOfOther)
      if leavesOutBell(ring, mark, loop) { return receipt }
    }
    // Where there is no memory the bell is rung at the end of the pause.
    if !isRung || receipt == .noMemory { return receipt }
    if receipt == .nothing {
      if loop.map({ isLooked(ring, by: $0) }) == true || ring.pointee.fallAsleep() { return receipt }
      receipt = ring.pointee.pop(&received)
      if receipt == .noMemory { return receipt }
    }
    // There is more, or may be: the sender's next turn comes behind all others'.
    if !ring.pointee.isEmpty || !ring.pointee.fallAsleep() { ring.pointee.ringOwnBell() }
    return receipt
  }
}

/// The child of a fork has none of its parent's rings, but the memory that says so.
extension MessagePort {
  func forgetRings() {
    for connection in state.connections.elements { treadle_system_free(connection.ring) }
    treadle_system_free(state.ring)
  }
}

/// A sender's side.
extension MessagePort {
  /// The state of a remote port's question for a ring.
  enum RingQuestion {
    case none
    case asked
    case answered
  }

  /// Asks for a ring, on a new connection; only if there is a set in which its bell can be watched. The lock is held,
  /// or not needed yet.
  func askForRing() -> MessageSocket.Outcome {
    if state.set.number < 0 { return .done }
    var room: (UInt64, UInt64) = (0, 0)
    return withUnsafeMutableBytes(of: &room) { room in
      CallData.writeRingQuestion(to: room)
      let frame = MessageFrame(
        kind: MessageFrame.Kind.call, flags: MessageFrame.Flag.wantsReply, length: CallData.ringQuestionSize,
        serial: MessageFrame.ringSerial)
      let outcome = state.socket.send(frame, room.baseAddress)
      if case .done = outcome {
        state.ringQuestion = .asked
        state.socketSent &+= 1
      }
      return outcome
    }
  }

  var awaitsRing: Bool {
    lock()
    defer { unlock() }
    return state.ringQuestion == .asked
  }

  /// Takes the answer, with the ring if there is one. False for an answer to no question.
  func takeRing(_ received: inout MessageSocket.Received) -> Bool {
    received.payload.free()
    let isRing = received.frame.kind == MessageFrame.Kind.ring
    lock()
    let isExpected = state.ringQuestion == .asked
    state.ringQuestion = .answered
    var isTaken = false
    if let ring = received.ring, isExpected, !state.isOver { isTaken = begin(ring) }
    unlock()
    if let ring = received.ring, !isTaken { MessageRing.end(ring) }
    return isExpected || !isRing
  }

  private func begin(_ ring: MessageRing.Pointer) -> Bool {
    let events = MessagePort.wantsMessages | MessagePort.edges
    if watch(ring.pointee.ownBell, events, MessagePort.bell) < 0 { return false }
    state.ring = ring
    ring.pointee.setReady()
    return true
  }

  /// The ring, unless the server has yet to receive what was sent by the socket: so everything is received in its
  /// order. The lock is held.
  private var ringInTurn: MessageRing.Pointer? {
    guard let ring = state.ring, ring.pointee.taken == state.socketSent else { return nil }
    return ring
  }

  /// Sends a message whose sender waits for its reply by the ring, if it has room.
  func sendByRing(_ frame: MessageFrame, _ data: UnsafeRawPointer?) -> Bool {
    if frame.serial == 0 { return false }
    lock()
    defer { unlock() }
    guard !state.isOver, let ring = ringInTurn else { return false }
    return ring.pointee.push(frame, data) == .done
  }

  /// Sends a frame by the ring or else the socket, without waiting.
  func offer(_ frame: MessageFrame, _ data: UnsafeRawPointer?, _ file: MessageFile, by socket: MessageSocket)
    -> MessageSocket.Outcome
  {
    lock()
    // The memory does not tell that the server has ended; the socket does, and refuses the frame (MSG-7). A wait for a
    // reply is told.
    if !file.isThere, frame.length <= MessageRing.mostData, let ring = ringInTurn,
      frame.serial != 0 || !treadle_system_socket_is_hung_up(socket.number)
    {
      let outcome = ring.pointee.push(frame, data)
      if outcome != .full {
        unlock()
        return outcome == .done ? .done : .closed
      }
    }
    // Before it is sent: no other thread puts anything into the ring from here on.
    state.socketSent &+= 1
    unlock()
    let outcome = socket.send(frame, data, file: file)
    if case .done = outcome { return outcome }
    lock()
    state.socketSent &-= 1
    unlock()
    return outcome
  }
}
