// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// One sender's connection to a local port: a place in the port's table, which is used again.
struct MessageConnection: BitwiseCopyable {
  /// None: the place is free.
  var socket: MessageSocket
  /// Tells those that used the place in turn.
  var generation: UInt32
  let process: Int32
  let user: UInt32
  /// It has said which name it means.
  var isGreeted = false
  /// It has asked for a ring, and has one.
  var hasAsked = false
  var ring: MessageRing.Pointer? = nil
  /// Frames that were received by the socket.
  var taken: UInt32 = 0
  /// Replies for which the sender had no room; until they are sent, nothing is received from it.
  var replies: UnsafeMutablePointer<WaitingReply>? = nil
  /// They wait for the end of the port's pause (`MessagePort+Pausing`), not for room in the socket.
  var isPaused = false
  /// There is no memory for its next frame: nothing is received from it until the end of the port's pause.
  var isStarved = false
  /// Neighbours among those that say nothing; of a free place the next free one. -1: none.
  var previous = -1
  var next = -1
}

/// A reply that waits until its sender has room.
struct WaitingReply {
  var next: UnsafeMutablePointer<WaitingReply>?
  let frame: MessageFrame
  /// The data of a large one; else it lies behind.
  var file: MessageFile

  var room: Int { file.isThere ? 0 : frame.length }

  static func make(_ frame: MessageFrame, _ data: UnsafeRawPointer?, _ file: MessageFile) -> UnsafeMutablePointer<
    WaitingReply
  >? {
    let inside = file.isThere ? 0 : frame.length
    guard let memory = treadle_system_allocate(MemoryLayout<WaitingReply>.stride &+ inside) else { return nil }
    let reply = memory.bindMemory(to: WaitingReply.self, capacity: 1)
    reply.initialize(to: WaitingReply(next: nil, frame: frame, file: file))
    if inside > 0, let data { memcpy(memory + MemoryLayout<WaitingReply>.stride, data, inside) }
    return reply
  }
  static func data(_ reply: UnsafeMutablePointer<WaitingReply>) -> UnsafeRawPointer? {
    reply.pointee.room == 0 ? nil : UnsafeRawPointer(reply) + MemoryLayout<WaitingReply>.stride
  }
  static func free(_ reply: UnsafeMutablePointer<WaitingReply>) {
    reply.pointee.file.close()
    treadle_system_free(reply)
  }
}

/// The connections of a local port. The lock is held.
extension MessagePort {
  /// What the kernel says of a connection, by its place and generation; 0 is the socket that listens.
  /// Another bit says that it is said of the connection's bell.
  static func mark(_ place: Int, _ generation: UInt32) -> UInt64 { UInt64(generation) << 32 | UInt64(place &+ 1) }

  /// The place of a mark, if it is the same connection still.
  func place(_ mark: UInt64) -> Int? {
    let place = Int(mark & 0xFFFF_FFFF & ~MessagePort.bell) &- 1
    guard let connection = state.connections[place], connection.socket.number >= 0,
      connection.generation == UInt32(truncatingIfNeeded: mark >> 32)
    else { return nil }
    return place
  }

  private static let mostConnections = 16384
  private static let epollAdd: Int32 = 1
  private static let epollDelete: Int32 = 2
  private static let epollModify: Int32 = 3
  /// Readable.
  static let wantsMessages: UInt32 = 0x001
  /// Writable.
  static let wantsRoom: UInt32 = 0x004

  func watch(_ socket: MessageSocket, _ events: UInt32, _ mark: UInt64) -> Int32 {
    treadle_system_epoll_control(state.set.number, MessagePort.epollAdd, socket.number, events, mark)
  }
  func rewatch(_ place: Int) {
    guard let now = state.connections[place] else { return }
    // The kernel tells of a hang-up in any case; as an edge, only once.
    let events =
      now.replies != nil
      ? now.isPaused ? 0 : MessagePort.wantsRoom : now.isStarved ? MessagePort.edges : MessagePort.wantsMessages
    rewatch(now.socket, events, MessagePort.mark(place, now.generation))
    // Its ring was not looked into meanwhile.
    if events == MessagePort.wantsMessages { now.ring?.pointee.ringOwnBell() }
  }
  func rewatch(_ socket: MessageSocket, _ events: UInt32, _ mark: UInt64) {
    _ = treadle_system_epoll_control(state.set.number, MessagePort.epollModify, socket.number, events, mark)
  }
  func unwatch(_ socket: MessageSocket) {
    _ = treadle_system_epoll_control(state.set.number, MessagePort.epollDelete, socket.number, 0, 0)
  }

  // MARK: Accepting

  /// All that have connected: no more than the kernel's queue holds.
  func acceptAll() {
    for _ in 0..<256 { if accept() { return } }
  }

  /// Takes in those who have connected, some at a time. True if that were all, or no other can be taken in.
  @discardableResult
  func accept() -> Bool {
    for _ in 0..<16 {
      if MessageClosing.isFull { return restMain() }
      if state.connectionCount >= MessagePort.mostConnections && !dropSilent() { return refuseOne() }
      let number = treadle_system_socket_accept(state.listener.number)
      if number >= 0 {
        endWant()
        admit(MessageSocket(number: number))
      } else if number == 0 &- treadle_system_emfile() || number == 0 &- treadle_system_enfile() {
        if !dropSilent() { return refuseOne() }
      } else if number == 0 &- treadle_system_eagain() {
        return true
      } else if number != 0 &- treadle_system_eintr() {
        return restMain()
      }
    }
    return false
  }

  /// A sender that says nothing makes room for one that may have something to say: the oldest. False if all have
  /// spoken.
  private func dropSilent() -> Bool {
    let place = state.firstSilent
    if place < 0 { return false }
    disconnect(place)
    return true
  }

  /// There is no room for another one: the next sender finds its connection ended. Where there is no descriptor even
  /// for that, since another thread of the process has taken the one in reserve, the sender waits.
  private func refuseOne() -> Bool {
    state.reserve.close()
    state.reserve = .none
    let number = treadle_system_socket_accept(state.listener.number)
    refuse(MessageSocket(number: number))
    makeReserve()
    return number < 0 && (number == 0 &- treadle_system_eagain() || restMain())
  }

  func makeReserve() {
    state.reserve = MessageSocket(number: treadle_system_socket_note(treadle_system_duplicate(state.set.number)))
  }

  private func admit(_ socket: MessageSocket) {
    var user: UInt32 = 0
    var process: Int32 = 0
    if treadle_system_socket_peer(socket.number, &user, &process) < 0 || !isAllowed(user) { return refuse(socket) }
    treadle_system_socket_take_files(socket.number, true)
    let place = state.freePlace
    let generation = (state.connections[place]?.generation ?? 0) &+ 1
    var connection = MessageConnection(socket: socket, generation: generation, process: process, user: user)
    connection.previous = state.lastSilent
    if place >= 0 {
      state.freePlace = state.connections[place]?.next ?? -1
      state.connections.set(place, connection)
    } else if !state.connections.append(connection) {
      return end(socket, of: user)
    }
    let taken = place >= 0 ? place : state.connections.count &- 1
    link(taken)
    state.connectionCount &+= 1
    if watch(socket, MessagePort.wantsMessages, MessagePort.mark(taken, generation)) < 0 { disconnect(taken) }
  }

  /// The process may have changed its user namespace since the port was created.
  private func isAllowed(_ user: UInt32) -> Bool {
    var isNamed = user == state.owner
    for allowed in state.users.elements where allowed == user { isNamed = true }
    return isNamed && treadle_system_user_is_certain(user)
  }

  // MARK: Those that say nothing

  private func link(_ place: Int) {
    change(state.lastSilent) { $0.next = place }
    state.lastSilent = place
    if state.firstSilent < 0 { state.firstSilent = place }
  }

  private func unlink(_ place: Int) {
    guard let connection = state.connections[place] else { return }
    if connection.previous < 0 { state.firstSilent = connection.next }
    if connection.next < 0 { state.lastSilent = connection.previous }
    change(connection.previous) { $0.next = connection.next }
    change(connection.next) { $0.previous = connection.previous }
    change(place) {
      $0.previous = -1
      $0.next = -1
    }
  }

  func change(_ place: Int, _ body: (inout MessageConnection) -> Void) {
    guard var connection = state.connections[place] else { return }
    body(&connection)
    state.connections.set(place, connection)
  }

  /// It has said which name it means.
  func greet(_ place: Int) {
    unlink(place)
    change(place) { $0.isGreeted = true }
  }

  // MARK: Ending

  /// Ends a connection: a waiter at its other end finds it ended.
  func disconnect(_ place: Int) {
    guard let connection = state.connections[place], connection.socket.number >= 0 else { return }
    if !connection.isGreeted { unlink(place) }
    dropReplies(place)
    dropRing(place)
    // A child process may have a copy of the socket, for a moment or for as long as it lives (`_Fork`, `clone`): so the
    // set is told, and the other end.
    unwatch(connection.socket)
    end(connection.socket, of: connection.user)
    change(place) {
      $0.socket = .none
      $0.next = state.freePlace
    }
    state.freePlace = place
    state.connectionCount &-= 1
  }

  func dropReplies(_ place: Int) {
    var next = state.connections[place]?.replies
    change(place) {
      $0.replies = nil
      $0.isPaused = false
    }
    while let reply = next {
      next = reply.pointee.next
      WaitingReply.free(reply)
    }
  }

  func disconnectAll() {
    var place = 0
    while place < state.connections.count {
      disconnect(place)
      place &+= 1
    }
  }

  /// Nobody connects any more. Senders that were not accepted are told as well, even if a child process has a copy of
  /// the socket.
  func stopListening() {
    let listener = state.listener
    if listener.number < 0 { return }
    state.listener = .none
    unwatch(listener)
    treadle_system_socket_shut(listener.number)
    while true {
      let number = treadle_system_socket_accept(listener.number)
      if number < 0 { break }
      refuse(MessageSocket(number: number))
    }
    listener.close()
  }
}
