// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase
import TreadleCore

/// Receiving, on a loop's thread: one message a call (PORT-6), from the senders in turn, since the kernel puts a
/// connection that it has told of behind all others that are ready.
extension MessagePort {
  private struct Incoming {
    var mark: UInt64 = 0
    var process: Int32 = 0
    var user: UInt32 = 0
    var received = MessageSocket.Received()
  }

  /// Serves what is ready, up to one message. False if a host did not complete that.
  func receive() -> Bool {
    if isForked { return true }
    var incoming = Incoming()
    lock()
    let isThere = nextMessage(&incoming)
    let mustSleep = state.mustSleep
    state.mustSleep = false
    unlock()
    if mustSleep { MessagePort.sleep() }
    if !isThere {
      endIfDeserted()
      return true
    }
    if !open(&incoming) { return true }
    hold()
    return deliver(&incoming)
  }

  /// Reads what came as a file. False, with the sender disconnected, for one that is refused. The lock is not held.
  private func open(_ incoming: inout Incoming) -> Bool {
    if incoming.received.file.number < 0 { return true }
    if !incoming.received.open(isOwn: !isStranger(incoming.user)) {
      disconnect(mark: incoming.mark)
      return false
    }
    if incoming.received.frame.has(MessageFrame.Flag.lent) { countCopy(of: incoming.mark) }
    return true
  }

  private func countCopy(of mark: UInt64) {
    lock()
    if let place = place(mark) { state.connections[place]?.ring?.pointee.countCopy() }
    unlock()
  }

  /// The next message of any sender. False for none. So much besides, connections and their ends, that others get their
  /// turn. The lock is held.
  private func nextMessage(_ incoming: inout Incoming) -> Bool {
    let loop = state.looked.count == 0 ? nil : Loop.existing
    for _ in 0..<32 {
      var event = treadle_system_event()
      if state.isOver || state.mustSleep { return false }
      if let loop, isTurnOfLooked(), let (place, mark) = nextLooked(loop) {
        event.data = mark | MessagePort.bell
        if serve(place, event, &incoming) { return true }
        continue
      }
      if treadle_system_epoll_wait(state.set.number, &event, 1, 0) <= 0 {
        // Those whose turn was another's.
        if let loop, nextLooked(loop) != nil { continue }
        return false
      }
      if event.data == 0 {
        accept()
      } else if event.data == MessagePort.pauseMark {
        endPause()
      } else if let place = place(event.data), serve(place, event, &incoming) {
        return true
      }
    }
    return false
  }

  private static let hasEnded: UInt32 = 0x018

  /// Serves a connection. True if that is a message of its sender's.
  private func serve(_ place: Int, _ event: treadle_system_event, _ incoming: inout Incoming) -> Bool {
    guard let connection = state.connections[place] else { return false }
    let isRung = event.data & MessagePort.bell != 0
    if connection.replies != nil {
      if isRung { return false }
      // Who has gone reads no replies; what he has sent before is received all the same.
      if event.events & MessagePort.hasEnded != 0 { dropReplies(place) } else { sendReplies(place) }
      if let now = state.connections[place], now.socket.number >= 0, now.replies == nil { rewatch(place) }
      return false
    }
    if connection.isStarved { return false }
    var receipt = MessageSocket.Receipt.nothing
    if let ring = connection.ring {
      receipt = receiveByRing(ring, event.data & ~MessagePort.bell, &incoming.received, isRung: isRung)
    }
    // The ring is empty, so a frame that was in the socket before is the next one.
    if receipt == .nothing && !isRung {
      let stranger = isStranger(connection.user) ? connection.user : nil
      // As if there were no memory: the kernel keeps the frame.
      receipt =
        stranger != nil && MessageClosing.isFull
        ? .noMemory : connection.socket.receive(&incoming.received, from: .sender, stranger: stranger)
      if receipt == .frame { count(place) }
    }
    switch receipt {
    case .noMemory: starve(place)
    case .nothing:
      if !isRung && event.events & MessagePort.hasEnded != 0 && event.events & MessagePort.wantsMessages == 0 {
        disconnect(place)
      }
    case .closed: disconnect(place)
    case .frame:
      endWant()
      let isHello = incoming.received.frame.kind == MessageFrame.Kind.hello
      if !isHello && connection.isGreeted {
        if !CallData.isRingQuestion(incoming.received) {
          incoming.mark = event.data & ~MessagePort.bell
          incoming.process = connection.process
          incoming.user = connection.user
          return true
        }
        incoming.received.drop()
        offerRing(place)
        return false
      }
      let isMeant = isHello && !connection.isGreeted && state.name.equals(incoming.received.name)
      incoming.received.drop()
      if isMeant { greet(place) } else { disconnect(place) }
    }
    return false
  }

  /// One more frame was received by the socket.
  private func count(_ place: Int) {
    change(place) { $0.taken &+= 1 }
    if let now = state.connections[place] { now.ring?.pointee.setTaken(now.taken) }
  }

  /// Numbers the messages of the process.
  private static func nextNumber() -> UInt64 { treadle_system_next_message() }

  /// Calls the client with a message. The port is held, and let go here.
  private func deliver(_ incoming: inout Incoming) -> Bool {
    var call = MessageCall(self, incoming.received.payload)
    call.connection = incoming.mark
    call.serial = incoming.received.frame.serial
    if incoming.received.frame.kind == MessageFrame.Kind.message { call.number = MessagePort.nextNumber() }
    call.view.data = call.payload.data
    call.view.size = call.payload.size
    call.view.call = call.number
    call.view.id = incoming.received.frame.id
    call.view.flags = call.serial == 0 ? 0 : 1
    call.view.senderProcess = incoming.process
    call.view.senderUser = incoming.user
    if incoming.received.frame.kind == MessageFrame.Kind.call {
      if !callFunction(&call) { disconnect(mark: call.connection) }
    } else if state.receive != nil || state.host != nil {
      _ = MessageCall.make(&call) { memory in
        guard let call = memory?.assumingMemoryBound(to: MessageCall.self) else { return }
        call.pointee.port.callReceive(call)
      }
    }
    if isForked {
      call.payload.forget()
      return true
    }
    call.payload.free()
    answer(&call, 0)
    let isComplete = call.isComplete
    letGo()
    return isComplete
  }

  /// A sender has sent what no port sends.
  func disconnect(mark: UInt64) {
    lock()
    if let place = place(mark) { disconnect(place) }
    unlock()
    endIfDeserted()
  }

  private func callReceive(_ call: UnsafeMutablePointer<MessageCall>) {
    withUnsafeMutablePointer(to: &call.pointee.view) { view in
      if let host = state.host {
        call.pointee.isComplete = host.handleMessage(state.token, UnsafeMutableRawPointer(view), port: handle)
      } else {
        state.receive?(OpaquePointer(bitPattern: handle), UnsafeRawPointer(view), info)
      }
    }
  }
}
