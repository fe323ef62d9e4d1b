// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase
package import TreadleCore

/// The port that sends to a name: being made, its connection, sending.
extension MessagePort {
  /// Makes one, which is connected. Fails with `Status.ignored` where another thread of this process has been quicker.
  package static func makeRemote(
    _ name: UnsafePointer<CChar>?, _ plan: Plan, _ context: Context, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Item {
    guard let name else { throw Failure(Status.argument, "name", "is NULL") }
    let port = try make(plan, isRemote: true)
    do throws(Failure) {
      port.state.name = try MessagePortName(name)
      try port.connect(port.state.name)
      try port.claim { () throws(Failure) in }
      // Its thread may be this one, which is about to send.
      MessagePortRegistry.accept(port.state.name, of: port.state.owner)
      return try port.makeItem(context, info: info, watching: port.watched)
    } catch {
      port.giveUp()
      throw error
    }
  }

  /// How long a new port waits for a place in the other side's queue of connections.
  private static let connectTimeout: Int64 = 5_000_000_000

  /// No lock is held, since anybody may serve the name. Nobody else knows of the port yet, so its own lock is not
  /// needed.
  private func connect(_ name: MessagePortName) throws(Failure) {
    if MessageClosing.isFull { throw Failure.system("connect", 0 &- treadle_system_eagain()) }
    let socket = MessageSocket(number: openConnection(name))
    if socket.number == 0 &- treadle_system_econnrefused() {
      throw Failure(Status.notFound, "name", "is not served by any port")
    }
    if socket.number < 0 { throw Failure.system("connect", socket.number) }
    var user: UInt32 = 0
    var process: Int32 = 0
    let result = treadle_system_socket_peer(socket.number, &user, &process)
    // The process may have changed its user namespace since the port was planned.
    if result < 0 || isStranger(user) || !treadle_system_user_is_certain(user) {
      refuse(socket)
      if result < 0 { throw Failure.system("getsockopt", result) }
      throw Failure(Status.notFound, "name", "is served by a process of another user")
    }
    state.socket = socket
    treadle_system_socket_take_files(socket.number, true)
    let hello = MessageFrame(kind: MessageFrame.Kind.hello, length: name.length)
    switch state.socket.send(hello, UnsafeRawPointer(name.text)) {
    case .done: break
    case .closed: throw Failure(Status.notFound, "name", "is served by a port that refuses this user")
    case .wait: throw Failure.system("sendmsg", 0 &- treadle_system_eagain())
    case .failed(let result): throw Failure.system("sendmsg", result)
    }
    state.socketSent = 1
    openSet()
    if case .closed = askForRing() {
      throw Failure(Status.notFound, "name", "is served by a port that refuses this user")
    }
  }

  private func openConnection(_ name: MessagePortName) -> Int32 {
    let number = name.withAddress(of: state.owner) { treadle_system_socket_connect($0, $1, 0) }
    if number != 0 &- treadle_system_eagain() { return number }
    // A port of this process makes room itself: its thread may be this one.
    MessagePortRegistry.accept(name, of: state.owner)
    return name.withAddress(of: state.owner) {
      treadle_system_socket_connect($0, $1, Clock.after(MessagePort.connectTimeout))
    }
  }

  /// The set of the socket and of a ring's bell; without one, there is the socket alone: so if half of the process's
  /// descriptors are used. The lock is held, or not needed yet.
  func openSet() {
    let set = MessageSocket(number: treadle_system_epoll())
    if set.number < 0 { return }
    if treadle_system_descriptor_is_late(set.number) { return set.close() }
    state.set = set
    if watch(state.socket, MessagePort.wantsMessages, 0) >= 0 { return }
    set.close()
    state.set = .none
  }

  /// What the source of a port watches.
  var watched: Int32 { state.set.number >= 0 ? state.set.number : state.socket.number }

  // MARK: The connection

  /// Has `body` use the socket outside of the lock, which nobody closes meanwhile.
  func withSocket<Result>(_ body: (MessageSocket) throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    if state.isOver {
      unlock()
      throw MessagePort.invalidFailure
    }
    state.socketUses &+= 1
    let socket = state.socket
    unlock()
    defer { endUse() }
    return try body(socket)
  }

  private func endUse() {
    lock()
    state.socketUses &-= 1
    if state.isOver { closeUnused() }
    unlock()
  }

  /// The port is over: the other side, and whoever waits for room here, sees that at once. The lock is held.
  func shutSocket() {
    treadle_system_socket_shut(state.socket.number)
    closeUnused()
  }

  private func closeUnused() {
    if state.socketUses != 0 { return }
    state.socket.close()
    state.socket = .none
    closePauseTimer()
    state.set.close()
    state.set = .none
    if let ring = state.ring { MessageRing.end(ring) }
    state.ring = nil
  }

  /// Whether the other side is there still; if not, the port ends here. The caller holds the item.
  func look(_ item: Item) -> Bool {
    if !item.isValid { return false }
    if !isRemote { return true }
    let isThere = try? withSocket { socket throws(Failure) in !treadle_system_socket_is_hung_up(socket.number) }
    if isThere == true { return true }
    takeReplies(item)
    item.invalidate()
    return false
  }

  package static func check(_ handle: UInt) throws(Failure) {
    try using(handle) { held throws(Failure) in if !held.port.look(held.item) { throw invalidFailure } }
  }

  /// The source of a remote port is ready: replies, of whatever thread's messages, or the other side's end.
  func listen() -> Bool {
    if isForked { return true }
    let loop = Loop.existing
    if let loop, takeLookedReply(loop) { return true }
    // Fails only for a port that has ended.
    try? MessagePort.using(handle) { held in
      if !takeReplies(held.item, whileAwaited: true, loop) { held.item.invalidate() }
    }
    return true
  }

  // MARK: Sending

  /// Sends one message, and waits until there is room for it. The caller holds the item; the file is finished here,
  /// before a client is told of the port's end.
  func send(
    _ frame: MessageFrame, _ data: UnsafeRawPointer?, _ file: MessageFile, until: Int64, _ item: Item
  ) throws(Failure) {
    if !file.isThere && sendByRing(frame, data) { return }
    if try offer(frame, data, file, until: until, item) { return }
    takeReplies(item)
    item.invalidate()
    throw MessagePort.goneFailure
  }

  /// False if the other side has gone.
  private func offer(
    _ frame: MessageFrame, _ data: UnsafeRawPointer?, _ file: MessageFile, until: Int64, _ item: Item
  ) throws(Failure) -> Bool {
    var isSent = false
    defer { finish(file, for: 0, isSent: isSent) }
    return try withSocket { socket throws(Failure) in
      // A thread that only sends learns here of its ring.
      if awaitsRing && !takeReplies(item) { return false }
      var pause: Int64 = 100_000
      while true {
        let isAccepted = isAccepted
        switch offer(frame, data, file, by: socket) {
        case .done:
          isSent = true
          return true
        case .closed: return false
        case .failed(let result)
        where result == 0 &- treadle_system_etoomanyrefs() || result == 0 &- treadle_system_eperm() && !isAccepted:
          // As many files of the user's are on their way as a process may have open; or the server, which takes files
          // from those whose user it has looked at, has yet to accept this connection. The kernel tells of the end of
          // neither.
          if !takeReplies(item) { return false }
          try MessagePort.demandTime(until)
          assert(LockOrder.isClear, "a waiter holds no lock")
          treadle_system_socket_rest(socket.number, min(until, Clock.now() &+ pause))
          pause = min(2 &* pause, 10_000_000)
        case .failed(let result): throw Failure.system("sendmsg", result)
        case .wait:
          try MessagePort.demandTime(until)
          if !awaitRoom(socket, until: until, item) { return false }
        }
      }
    }
  }

  /// Waits for room in the socket. A server receives nothing from a sender that has no room for its replies, so these
  /// are taken meanwhile. False if the other side has gone.
  private func awaitRoom(_ socket: MessageSocket, until: Int64, _ item: Item) -> Bool {
    assert(LockOrder.isClear, "a waiter holds no lock")
    if !treadle_system_socket_wait(socket.number, until) { return true }
    if !takeReplies(item) { return false }
    // Without memory they are there still.
    lock()
    let isResting = state.isResting
    unlock()
    if isResting { MessagePort.sleep() }
    return true
  }

  /// Whether the server has accepted the connection, which it is known by to have answered the question for a ring. One
  /// that is not asked does not tell.
  private var isAccepted: Bool {
    lock()
    defer { unlock() }
    return state.ringQuestion == .answered
  }

  private static func demandTime(_ until: Int64) throws(Failure) {
    if until == Clock.forever || Clock.now() < until { return }
    throw Failure(Status.timeout, "timeout_ns", "passed, and the other side had no room for the message")
  }

  /// Sends a message that wants no reply.
  package static func send(
    _ handle: UInt, id: Int32, _ data: UnsafeRawPointer?, _ size: Int, timeout: Int64
  ) throws(Failure) {
    let until = Clock.after(timeout)
    try using(handle) { held throws(Failure) in
      try held.port.checkSending(held.item, data, size)
      let file = try held.port.makeFile(data, size, for: 0)
      try held.port.send(
        MessageFrame(kind: MessageFrame.Kind.message, length: size, id: id), data, file, until: until, held.item)
    }
  }

  func checkSending(_ item: Item, _ data: UnsafeRawPointer?, _ size: Int) throws(Failure) {
    if !isRemote { throw Failure(Status.state, "port", "is a local one, which receives") }
    try MessagePort.checkData(data, size)
    if !item.isValid { throw MessagePort.invalidFailure }
    if treadle_system_is_closed() { throw Shutdown.failure }
  }
}
