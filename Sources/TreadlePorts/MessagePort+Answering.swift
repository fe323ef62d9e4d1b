// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase
import TreadleCore

/// A server's side: the reply to a message, from the callback of the message or behind it.
extension MessagePort {
  /// Replies to the message of a number, whose callback runs on this thread. False if nobody waits for it.
  package static func reply(_ number: UInt64, _ data: UnsafeRawPointer?, _ size: Int) throws(Failure) -> Bool {
    try Runtime.start()
    guard let call = MessageCall.find(number) else {
      throw Failure(Status.notFound, "call", "is not that of a message whose callback runs on this thread")
    }
    try checkData(data, size)
    if call.pointee.isReplied { throw Failure(Status.state, "call", "has its reply") }
    if call.pointee.serial == 0 { return false }
    let file = try call.pointee.port.makeFile(data, size, for: call.pointee.connection)
    let isSent = try call.pointee.port.send(call.pointee, data, size, file)
    call.pointee.isReplied = true
    return isSent
  }

  static func checkData(_ data: UnsafeRawPointer?, _ size: Int) throws(Failure) {
    if size < 0 || size > MessageFrame.mostBytes {
      throw Failure(Status.range, "size", "is more than a message can have")
    }
    if data == nil && size != 0 { throw Failure(Status.argument, "data", "is NULL, but size is not 0") }
  }

  /// The reply of one who has not given any.
  func answer(_ call: inout MessageCall, _ flags: UInt8) {
    if call.serial == 0 || call.isReplied { return }
    call.isReplied = true
    let frame = MessageFrame(kind: MessageFrame.Kind.reply, flags: flags, length: 0, serial: call.serial)
    // A sender whose reply cannot be sent is told that by the end of its connection.
    do throws(Failure) { _ = try send(frame, to: call.connection, nil, .none) } catch {
      disconnect(mark: call.connection)
    }
  }

  func send(_ call: MessageCall, _ data: UnsafeRawPointer?, _ size: Int, _ file: MessageFile) throws(Failure) -> Bool {
    let frame = MessageFrame(kind: MessageFrame.Kind.reply, length: size, serial: call.serial)
    return try send(frame, to: call.connection, data, file)
  }

  /// Sends a reply, or leaves it here until its sender has room. The file is this function's. False if the sender has
  /// gone.
  private func send(
    _ frame: MessageFrame, to mark: UInt64, _ data: UnsafeRawPointer?, _ file: MessageFile
  ) throws(Failure) -> Bool {
    lock()
    // A sender whose ring is broken is disconnected.
    defer {
      unlock()
      endIfDeserted()
    }
    if let place = place(mark) { return try send(frame, place, data, file) }
    file.close()
    return false
  }

  /// The lock is held.
  func send(_ frame: MessageFrame, _ place: Int, _ data: UnsafeRawPointer?, _ file: MessageFile) throws(Failure) -> Bool
  {
    var file = file
    var isSent = false
    defer { finishLocked(file, state.connections[place]?.ring, isSent: isSent) }
    guard let connection = state.connections[place] else { return false }
    if connection.replies == nil {
      // Replies are matched by their serials: they need no order.
      if !file.isThere, let ring = connection.ring, ring.pointee.isReady {
        switch ring.pointee.push(frame, data) {
        case .done: return true
        case .full: break
        case .broken:
          disconnect(place)
          return false
        }
      }
      switch connection.socket.send(frame, data, file: file) {
      case .done:
        isSent = true
        return true
      case .closed: return false
      case .failed(let result) where result == 0 &- treadle_system_etoomanyrefs():
        if !pause(place) { throw Failure.system("sendmsg", result) }
      case .failed(let result): throw Failure.system("sendmsg", result)
      case .wait: break
      }
    }
    guard let reply = WaitingReply.make(frame, data, file) else { throw Failure.noMemory("reply") }
    file = .none
    append(reply, place)
    return true
  }

  private func append(_ reply: UnsafeMutablePointer<WaitingReply>, _ place: Int) {
    guard let connection = state.connections[place] else { return }
    if let first = connection.replies {
      var last = first
      while let next = last.pointee.next { last = next }
      last.pointee.next = reply
      return
    }
    change(place) { $0.replies = reply }
    rewatch(place)
  }

  /// The sender has room again.
  func sendReplies(_ place: Int) {
    while let connection = state.connections[place], let reply = connection.replies {
      switch connection.socket.send(reply.pointee.frame, WaitingReply.data(reply), file: reply.pointee.file) {
      case .wait: return
      case .failed(let result) where result == 0 &- treadle_system_etoomanyrefs() && pause(place):
        return rewatch(place)
      case .failed: return disconnect(place)
      case .done:
        finishLocked(reply.pointee.file, connection.ring, isSent: true)
        reply.pointee.file = .none
      case .closed: break
      }
      change(place) { $0.replies = reply.pointee.next }
      WaitingReply.free(reply)
    }
  }
}
