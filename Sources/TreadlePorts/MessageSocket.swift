// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// One end of a connection between message ports: a socket that keeps messages apart.
struct MessageSocket: BitwiseCopyable {
  let number: Int32

  static let none = MessageSocket(number: -1)

  func close() { treadle_system_socket_close(number) }

  /// What came of sending or receiving.
  enum Outcome {
    case done
    /// Nothing is there, or there is no room.
    case wait
    /// The other end is closed.
    case closed
    /// The kernel refuses, with this result.
    case failed(Int32)
  }

  // MARK: Sending

  /// Sends a frame with its data, in the frame or, where that is much, as a file; never waits.
  func send(_ frame: MessageFrame, _ data: UnsafeRawPointer?, file: MessageFile = .none) -> Outcome {
    var head: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return withUnsafeMutableBytes(of: &head) { head in
      let inFile = file.isThere
      MessageFrame(
        kind: frame.kind, flags: frame.flags | file.flags, length: frame.length, serial: frame.serial, id: frame.id
      ).write(to: head)
      while true {
        var passed = file.number
        let result = treadle_system_socket_send(
          number, head.baseAddress, MessageFrame.size, data, inFile ? 0 : frame.length, &passed, inFile ? 1 : 0)
        if result >= 0 { return .done }
        let error = Int32(truncatingIfNeeded: result)
        if error == 0 &- treadle_system_eintr() { continue }
        if error != 0 &- treadle_system_emsgsize() || inFile { return MessageSocket.outcome(error) }
        // The system's sockets are told to be smaller than usual.
        guard frame.length > 0, let other = try? MessageFile.seal(data, frame.length) else { return .failed(error) }
        defer { other.close() }
        return send(frame, nil, file: other)
      }
    }
  }

  /// Sends a frame that has descriptors for its data; never waits.
  func send(_ frame: MessageFrame, passing descriptors: (Int32, Int32, Int32)) -> Outcome {
    var head: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    var passed = descriptors
    return withUnsafeMutableBytes(of: &head) { head in
      frame.write(to: head)
      return withUnsafeBytes(of: &passed) { passed in
        let numbers = passed.baseAddress?.assumingMemoryBound(to: Int32.self)
        while true {
          let result = treadle_system_socket_send(number, head.baseAddress, MessageFrame.size, nil, 0, numbers, 3)
          if result >= 0 { return .done }
          let error = Int32(truncatingIfNeeded: result)
          if error != 0 &- treadle_system_eintr() { return MessageSocket.outcome(error) }
        }
      }
    }
  }

  private static func outcome(_ error: Int32) -> Outcome {
    if error == 0 &- treadle_system_eagain() { return .wait }
    let isClosed = error == 0 &- treadle_system_epipe() || error == 0 &- treadle_system_econnreset()
    return isClosed ? .closed : .failed(error)
  }

  // MARK: Receiving

  /// A frame that has come, with what it carries. The receiving functions write it where their caller wants it, and
  /// leave it as it is if there is none.
  struct Received {
    var frame = MessageFrame(kind: 0, length: 0)
    var payload = MessagePayload()
    /// What `open` makes the payload of.
    var file = MessageSocket.none
    /// Of a frame that brings one: the receiver's; nil for one that this process cannot use.
    var ring: MessageRing.Pointer? = nil
    /// Of a sender's first frame: the name that it means.
    var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: payload.data, count: payload.size) }

    /// Reads what came as a file. False, with nothing left to free, for one that is refused. No lock is held: see
    /// `MessagePayload`.
    mutating func open(isOwn: Bool) -> Bool {
      if file.number < 0 { return true }
      let opened = MessagePayload(
        file: file.number, size: frame.length, isLent: frame.has(MessageFrame.Flag.lent), isOwn: isOwn)
      drop()
      payload = opened ?? MessagePayload()
      return opened != nil
    }

    mutating func drop() {
      payload.free()
      file.close()
      file = .none
    }
  }
  enum Receipt {
    case frame
    case nothing
    /// The other end is closed, or has sent what no port sends.
    case closed
    /// There is no memory: try again later.
    case noMemory
  }

  /// Receives one frame, without waiting. `stranger`: the other user whose it is, if that is not trusted.
  func receive(_ out: inout Received, from origin: MessageFrame.Origin, stranger: UInt32? = nil) -> Receipt {
    guard let buffer = MessagePayload.makeBuffer() else { return .noMemory }
    let receipt = receive(&out, into: buffer, from: origin, stranger)
    if receipt == .frame && out.payload.isIn(buffer) { return receipt }
    treadle_system_free(buffer)
    return receipt
  }

  private func receive(
    _ out: inout Received, into buffer: UnsafeMutableRawPointer, from origin: MessageFrame.Origin, _ stranger: UInt32?
  ) -> Receipt {
    var received = treadle_system_received()
    var attempts = 0
    while true {
      let result =
        stranger == nil
        ? treadle_system_socket_receive(number, buffer, MessagePayload.roomOfBuffer, &received)
        : treadle_system_socket_peek(number, buffer, MessagePayload.roomOfBuffer, &received)
      if result >= 0 { break }
      if result == 0 &- treadle_system_eintr() { continue }
      if result == 0 &- treadle_system_eagain() { return .nothing }
      // The kernel says once that the other end was closed before it had read everything: what it has sent is there
      // still.
      if result == 0 &- treadle_system_econnreset() && attempts == 0 {
        attempts = 1
        continue
      }
      return result == 0 &- treadle_system_enomem() || result == 0 &- treadle_system_enobufs() ? .noMemory : .closed
    }
    // What is passed is this function's, until a ring or the frame takes it.
    defer {
      let passed = (received.passed.0, received.passed.1, received.passed.2)
      treadle_system_socket_close(passed.0)
      treadle_system_socket_close(passed.1)
      treadle_system_socket_close(passed.2)
    }
    if let stranger {
      // A frame that is refused stays where it is, and is closed with its connection.
      if received.count > 0 && !treadle_system_has_seals(received.passed.0) {
        MessageClosing.close(MessageSocket(number: received.passed.0), of: stranger)
        received.passed.0 = -1
        return .closed
      }
      if received.is_cut { return .closed }
    }
    if received.size == 0 || received.is_odd { return .closed }
    let bytes = UnsafeRawBufferPointer(start: buffer, count: MessagePayload.roomOfBuffer)
    // A process without room for a ring's descriptors goes on without a ring.
    let isCutRing =
      received.is_cut && received.size >= MessageFrame.size && bytes[MessageFrame.placeOfKind] == MessageFrame.Kind.ring
    if received.is_cut && !isCutRing { return .closed }
    let files = isCutRing ? 3 : Int(received.count)
    guard let frame = MessageFrame.parse(bytes, size: Int(received.size), files: files, from: origin) else {
      return .closed
    }
    if stranger != nil { treadle_system_socket_skip(number) }
    if isCutRing {
      out = Received(frame: frame)
    } else if frame.kind == MessageFrame.Kind.ring {
      let passed = received.passed
      received.passed = (-1, -1, -1)
      out = Received(frame: frame, ring: MessageRing.adopt(passed.0, own: passed.1, other: passed.2))
    } else if received.count == 0 {
      out = Received(frame: frame, payload: MessagePayload(in: buffer, size: frame.length))
    } else {
      out = Received(frame: frame, file: MessageSocket(number: received.passed.0))
      received.passed.0 = -1
    }
    return .frame
  }
}
