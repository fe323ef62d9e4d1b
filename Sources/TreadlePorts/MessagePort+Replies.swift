// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase
import TreadleCore

/// A sender's side: the replies that have come, each for the thread that waits for it.
extension MessagePort {
  /// Takes in what has come: each reply goes to the thread that waits for it, one for which nobody waits is dropped.
  /// Takes it all, or `whileAwaited`: a source that is still ready is performed again. False when the other side has
  /// gone. The caller holds the item. `loop`: the calling thread's, if its innermost run calls the port.
  @discardableResult
  func takeReplies(_ item: Item, whileAwaited: Bool = false, _ loop: Loop? = nil) -> Bool {
    let isThere = try? withSocket { socket throws(Failure) in
      let isBySocket = !whileAwaited || takeEvents()
      if !takeRepliesByRing(loop) { return false }
      if !isBySocket { return true }
      var received = MessageSocket.Received()
      for _ in 0..<64 {
        switch socket.receive(&received, from: .server) {
        case .frame:
          // The client has named the user that serves the name, and trusts that one.
          if !received.open(isOwn: true) {
            _ = takeRepliesByRing(nil)
            return false
          }
          if received.frame.has(MessageFrame.Flag.lent) { countCopy() }
          if received.frame.isAboutRing {
            if !takeRing(&received) { return false }
          } else if !hand(&received) && whileAwaited {
            return true
          }
        case .nothing: return true
        case .noMemory:
          rest()
          return true
        case .closed:
          // What was in the ring when it was closed.
          _ = takeRepliesByRing(nil)
          return false
        }
      }
      return true
    }
    return isThere == true
  }

  private func countCopy() {
    lock()
    state.ring?.pointee.countCopy()
    unlock()
  }

  /// Hands out the replies in the ring. False if the server says what cannot be. `loop`: the calling thread's, if its
  /// innermost run calls the port.
  func takeRepliesByRing(_ loop: Loop?) -> Bool {
    var received = MessageSocket.Received()
    for _ in 0..<256 {
      lock()
      guard let ring = state.ring else {
        unlock()
        return true
      }
      let receipt = ring.pointee.pop(&received)
      if receipt == .frame, let loop { loop.noteCaller(onProcessor: ring.pointee.processorOfOther) }
      if receipt == .nothing, loop.map({ leavesOutBell(ring, 0, $0) }) == true || ring.pointee.fallAsleep() {
        unlock()
        return true
      }
      unlock()
      switch receipt {
      case .frame: hand(&received)
      case .nothing: continue
      case .closed: return false
      case .noMemory:
        rest()
        return true
      }
    }
    lookAgain()
    return true
  }

  private func lookAgain() {
    lock()
    state.ring?.pointee.ringOwnBell()
    unlock()
  }

  /// Whether the socket has something, as the set says, which is told of the bell as well.
  func takeEvents() -> Bool {
    if state.set.number < 0 { return true }
    // The socket, the bell, and the timer of a pause.
    var events = (treadle_system_event(), treadle_system_event(), treadle_system_event())
    let count = withUnsafeMutableBytes(of: &events) { events in
      treadle_system_epoll_wait(
        state.set.number, events.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: treadle_system_event.self), 3, 0)
    }
    let marks = (count > 0 ? events.0.data : nil, count > 1 ? events.1.data : nil, count > 2 ? events.2.data : nil)
    if marks.0 == MessagePort.pauseMark || marks.1 == MessagePort.pauseMark || marks.2 == MessagePort.pauseMark {
      lock()
      if !state.isOver { endPause() }
      unlock()
    }
    return marks.0 == 0 || marks.1 == 0 || marks.2 == 0
  }

  /// Gives the client the reply.
  func hand(_ payload: inout MessagePayload, _ request: Request) throws(Failure) {
    guard let reply = request.reply else { return payload.free() }
    hold()
    var call = MessageCall(self, payload)
    call.reply = reply
    call.info = request.info
    let isOpen = MessageCall.make(&call) { memory in
      guard let call = memory?.assumingMemoryBound(to: MessageCall.self).pointee else { return }
      call.reply?(call.payload.data, call.payload.size, call.info)
    }
    if isForked {
      call.payload.forget()
      throw Runtime.forkedFailure
    }
    call.payload.free()
    letGo()
    if !isOpen { throw Shutdown.failure }
  }
}
