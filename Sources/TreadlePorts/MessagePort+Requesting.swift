// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase
import TreadleCore

/// Sending a message and waiting for its reply, with the caller's loop running meanwhile (MSG-6).
extension MessagePort {
  package typealias Reply = @convention(c) (UnsafeRawPointer?, Int, UnsafeMutableRawPointer?) -> Void

  /// What a client asks for.
  package struct Request {
    package let id: Int32
    package let data: UnsafeRawPointer?
    package let size: Int
    package let sendTimeout: Int64
    package let replyTimeout: Int64
    package let mode: ModeName
    package let reply: Reply?
    package let info: UnsafeMutableRawPointer?
    /// The data is that of a call of a function.
    package let isCall: Bool

    package init(
      id: Int32, data: UnsafeRawPointer?, size: Int, sendTimeout: Int64, replyTimeout: Int64, mode: ModeName,
      reply: Reply?,
      info: UnsafeMutableRawPointer?, isCall: Bool = false
    ) {
      self.id = id
      self.data = data
      self.size = size
      self.sendTimeout = sendTimeout
      self.replyTimeout = replyTimeout
      self.mode = mode
      self.reply = reply
      self.info = info
      self.isCall = isCall
    }
  }

  package static func request(_ handle: UInt, _ request: Request) throws(Failure) {
    let until = Clock.after(request.sendTimeout)
    try using(handle) { held throws(Failure) in
      try held.port.checkSending(held.item, request.data, request.size)
      if strcmp(request.mode.bytes, treadle_system_common_modes_name()) == 0 {
        throw Failure(Status.argument, "mode", "is the name of the common modes themselves")
      }
      let loop = try Loop.current()
      // The other side's replies, and its end, are seen in the mode.
      var isAdded = false
      defer { if isAdded && !held.port.isForked { _ = try? loop.remove(held.item, request.mode) } }
      let mode = try loop.attend(held.item, in: request.mode, isAdded: &isAdded)
      try held.port.exchange(request, on: loop, mode, until: until, held.item)
    }
  }

  private func exchange(_ request: Request, on loop: Loop, _ mode: Mode?, until: Int64, _ item: Item) throws(Failure) {
    let wait = try beginWait(on: loop)
    do throws(Failure) {
      // A port that is found to be over tells its client, who may end the thread.
      try ObjectCall.recorded(0, wait, ReplyWait.abandon) { () throws(Failure) in
        try send(request, serial: wait.pointee.serial, until: until, item)
      }
      try runUntilReplied(wait, on: loop, mode, request)
    } catch {
      if !isForked { dropWait(wait) }
      throw error
    }
    var (phase, reply) = endWait(wait)
    if phase == ReplyWait.Phase.answered { return try hand(&reply, request) }
    reply.free()
    switch phase {
    case ReplyWait.Phase.lost: throw MessagePort.goneFailure
    default:
      if treadle_system_is_closed_now() { throw Shutdown.failure }
      throw Failure(
        Status.noReply, request.isCall ? "timeout_ns" : "reply_timeout_ns", "passed, and the reply had not come")
    }
  }

  private func send(_ request: Request, serial: UInt32, until: Int64, _ item: Item) throws(Failure) {
    let file = try makeFile(request.data, request.size, for: 0)
    let frame = MessageFrame(
      kind: request.isCall ? MessageFrame.Kind.call : MessageFrame.Kind.message, flags: MessageFrame.Flag.wantsReply,
      length: request.size, serial: serial, id: request.id)
    do throws(Failure) {
      try send(frame, request.data, file, until: until, item)
    } catch {
      throw error.status == Status.timeout && !request.isCall
        ? Failure(error.status, "send_timeout_ns", error.text) : error
    }
  }

  /// Runs the loop until the reply is there, or will not come in time.
  private func runUntilReplied(_ wait: ReplyWait.Pointer, on loop: Loop, _ mode: Mode?, _ request: Request)
    throws(Failure)
  {
    var known = mode
    let until = Clock.after(request.replyTimeout)
    let awaited = Awaited(
      UnsafeMutableRawPointer(wait),
      isOngoing: { memory in
        ReplyWait.isOngoing(memory.assumingMemoryBound(to: ReplyWait.self)) && !treadle_system_is_closed_now()
      },
      abandon: ReplyWait.abandon)
    repeat {
      do throws(Failure) {
        // A client that was called meanwhile may have named other modes.
        defer { known = nil }
        try loop.run(
          until: awaited, in: request.mode, known: known, deadline: until, interrupt: state.host?.interruptCallback)
      } catch {
        if error.status != Status.callback { throw error }
        // A host's callback did not complete: that ends the client's run, as it would have without this one.
        if !ReplyWait.isOngoing(wait) {
          loop.failRun()
          return
        }
        loop.failRun()
        throw error
      }
    } while ReplyWait.isOngoing(wait) && !treadle_system_is_closed_now()
      && (until == Clock.forever || Clock.now() < until)
  }
}
