// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A message whose callback has returned, and which is replied to later, on any thread. It holds its port. Its owner
/// ends it once.
package struct PostponedMessage {
  let port: MessagePort
  var payload: MessagePayload
  let connection: UInt64
  let serial: UInt32
  package let id: Int32

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: payload.data, count: payload.size) }
  package var wantsReply: Bool { serial != 0 }

  /// A sender that waits gets the reply, or, with none, the end of its wait.
  package mutating func end(_ reply: UnsafeRawBufferPointer?) {
    var call = MessageCall(port, MessagePayload())
    call.connection = connection
    call.serial = serial
    if let reply, serial != 0, !port.isForked,
      let file = try? port.makeFile(reply.baseAddress, reply.count, for: connection)
    {
      call.isReplied = (try? port.send(call, reply.baseAddress, reply.count, file)) != nil
    }
    if !port.isForked {
      port.answer(&call, MessageFrame.Flag.abandoned)
      payload.free()
    }
    port.letGo()
  }
}

extension MessagePort {
  /// The message of a number, whose callback runs on this thread, is replied to later, and its bytes live until then.
  package static func postpone(_ number: UInt64) throws(Failure) -> PostponedMessage {
    guard let call = MessageCall.find(number), !call.pointee.isReplied else {
      throw Failure(Status.notFound, "call", "is not that of a message whose callback runs on this thread")
    }
    let port = call.pointee.port
    port.hold()
    call.pointee.isReplied = true
    return PostponedMessage(
      port: port, payload: call.pointee.payload.take(), connection: call.pointee.connection,
      serial: call.pointee.serial,
      id: call.pointee.view.id)
  }
}
