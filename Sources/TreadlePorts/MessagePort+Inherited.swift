// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase
package import TreadleCore

/// Ports without a name: the two ends of a pair of sockets, of which another process has inherited one. No other
/// process can connect, so neither end asks for names or users.
extension MessagePort {
  /// The end that receives. The socket is this function's; the port is over when the other end is closed.
  package static func makeServing(
    _ number: Int32, _ plan: Plan, _ context: Context, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Item {
    try makeInherited(MessageSocket(number: number), plan, context, info: info, isRemote: false)
  }

  /// The end that sends, and waits for replies. The socket is this function's.
  package static func makeAsking(
    _ number: Int32, _ plan: Plan, _ context: Context, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Item {
    try makeInherited(MessageSocket(number: number), plan, context, info: info, isRemote: true)
  }

  private static func makeInherited(
    _ socket: MessageSocket, _ plan: Plan, _ context: Context, info: UnsafeMutableRawPointer?, isRemote: Bool
  ) throws(Failure) -> Item {
    let port: MessagePort
    do throws(Failure) {
      try Runtime.start()
      port = try make(plan, isRemote: isRemote)
    } catch {
      socket.close()
      throw error
    }
    do throws(Failure) {
      if isRemote { try port.adoptAsking(socket) } else { try port.adoptServing(socket) }
      return try port.makeItem(context, info: info, watching: port.watched)
    } catch {
      port.giveUp()
      throw error
    }
  }

  private func adoptServing(_ socket: MessageSocket) throws(Failure) {
    do throws(Failure) { try open() } catch {
      socket.close()
      throw error
    }
    lock()
    defer { unlock() }
    state.isInherited = true
    var connection = MessageConnection(socket: socket, generation: 1, process: 0, user: state.owner)
    connection.isGreeted = true
    if !state.connections.append(connection) {
      socket.close()
      throw Failure.noMemory("port")
    }
    state.connectionCount = 1
    let result = watch(socket, MessagePort.wantsMessages, MessagePort.mark(0, 1))
    if result < 0 { throw Failure.system("epoll_ctl", result) }
  }

  private func adoptAsking(_ socket: MessageSocket) throws(Failure) {
    lock()
    defer { unlock() }
    state.socket = socket
    openSet()
    if case .closed = askForRing() { throw MessagePort.goneFailure }
  }

  /// The process at the other end has ended, even if another one keeps the connection: what it has replied is taken,
  /// and the port is over.
  package static func endConnection(_ handle: UInt) {
    try? using(handle) { held in
      held.port.takeReplies(held.item)
      held.item.invalidate()
    }
  }

  /// Ends an inherited port whose one connection has ended. Follows whatever may have ended a connection: the kernel
  /// tells of that no more. The lock is not held.
  func endIfDeserted() {
    if !state.isInherited { return }
    lock()
    let isDeserted = state.connectionCount == 0 && !state.isOver
    unlock()
    if isDeserted { try? MessagePort.using(handle) { held in held.item.invalidate() } }
  }
}
