// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCalls
import TreadleCore

/// One message, as the client sees it. The layout is that of `treadle_message_port_message` in the C header; a test
/// compares the two.
package struct MessageView {
  package var structSize: Int
  package var data: UnsafeRawPointer?
  package var size: Int
  package var call: UInt64
  package var id: Int32
  package var flags: UInt32
  package var senderProcess: Int32
  package var senderUser: UInt32
}

/// A call of a client's with the bytes of a message or a reply, on a thread's stack. When the thread ends inside, what
/// it holds is given up, and the sender is told.
struct MessageCall {
  /// First: what ends it where its stack goes (clients.c).
  let abandon: @convention(c) (UnsafeMutableRawPointer) -> Void
  var outer: UnsafeMutableRawPointer? = nil
  /// Held.
  let port: MessagePort
  var payload: MessagePayload

  // Of a message.
  /// What the client knows it by; 0 for a reply.
  var number: UInt64 = 0
  /// Whose it is (`MessagePort.mark`), and what the sender knows it by.
  var connection: UInt64 = 0
  var serial: UInt32 = 0
  var isReplied = false
  /// Of a call of a function, while that runs.
  var prepared: PortableCall? = nil
  var view = MessageView(
    structSize: MemoryLayout<MessageView>.size, data: nil, size: 0, call: 0, id: 0, flags: 0, senderProcess: 0,
    senderUser: 0)

  // Of a reply.
  var reply: MessagePort.Reply? = nil
  var info: UnsafeMutableRawPointer? = nil
  /// A host has completed it.
  var isComplete = true

  /// In place: it is large.
  @inline(__always)
  init(_ port: MessagePort, _ payload: MessagePayload) {
    abandon = MessageCall.end
    self.port = port
    self.payload = payload
  }

  private static let end: @convention(c) (UnsafeMutableRawPointer) -> Void = { memory in
    let call = memory.assumingMemoryBound(to: MessageCall.self)
    treadle_system_thread().pointee.message_call = call.pointee.outer
    call.pointee.payload.free()
    treadle_system_free(call.pointee.prepared?.memory)
    call.pointee.port.answer(&call.pointee, MessageFrame.Flag.abandoned)
    call.pointee.port.letGo()
  }

  /// Makes the call. False, with nothing called, after a shutdown. What it holds stays the caller's.
  static func make(_ call: inout MessageCall, _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Bool {
    withUnsafeMutablePointer(to: &call) { call in
      let thread = treadle_system_thread()
      call.pointee.outer = thread.pointee.message_call
      thread.pointee.message_call = UnsafeMutableRawPointer(call)
      let isOpen = ClientCall.during(&call.pointee, body)
      // The child of a fork, which has begun a life of its own in the call, knows of none.
      if thread.pointee.message_call == UnsafeMutableRawPointer(call) {
        thread.pointee.message_call = call.pointee.outer
      }
      return isOpen
    }
  }

  /// The message that a client's number means, of those whose callbacks run on the calling thread.
  static func find(_ number: UInt64) -> UnsafeMutablePointer<MessageCall>? {
    var next = treadle_system_thread().pointee.message_call?.assumingMemoryBound(to: MessageCall.self)
    while let call = next {
      if call.pointee.number == number { return number == 0 ? nil : call }
      next = call.pointee.outer?.assumingMemoryBound(to: MessageCall.self)
    }
    return nil
  }
}
