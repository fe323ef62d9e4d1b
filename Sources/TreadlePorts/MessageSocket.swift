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
  func send(_ frame: MessageFrame, _ data: UnsafeRawPointer?, file: MessageSocket = .none) -> Outcome {
    var head: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return withUnsafeMutableBytes(of: &head) { head in
      let inFile = file.number >= 0
      MessageFrame(
        kind: frame.kind, flags: inFile ? frame.flags | MessageFrame.Flag.inFile : frame.flags, length: frame.length,
        serial: frame.serial, id: frame.id
      ).write(to: head)
      while true {
        let result = treadle_system_socket_send(number, head.baseAddress, MessageFrame.size, data, inFile ? 0 : frame.length, file.number)
        if result >= 0 { return .done }
        let error = Int32(truncatingIfNeeded: result)
        if error == 0 &- treadle_system_eintr() { continue }
        if error != 0 &- treadle_system_emsgsize() || inFile { return MessageSocket.outcome(error) }
        // The system's sockets are told to be smaller than usual.
        guard let other = try? MessageSocket.makeFile(data, frame.length, isForced: true) else { return .failed(error) }
        defer { other.close() }
        return other.number < 0 ? .failed(error) : send(frame, nil, file: other)
      }
    }
  }

  private static func outcome(_ error: Int32) -> Outcome {
    if error == 0 &- treadle_system_eagain() { return .wait }
    let isClosed = error == 0 &- treadle_system_epipe() || error == 0 &- treadle_system_econnreset()
    return isClosed ? .closed : .failed(error)
  }

  /// A file for the data of a frame that is too large for the frame itself, for the caller to close; none for one that is not.
  static func makeFile(_ data: UnsafeRawPointer?, _ size: Int, isForced: Bool = false) throws(Failure) -> MessageSocket {
    if size == 0 || size <= MessageFrame.mostInline && !isForced { return .none }
    let file = treadle_system_sealed_file(data, size)
    if file < 0 { throw Failure.system("memfd_create", file) }
    return MessageSocket(number: file)
  }

  // MARK: Receiving

  /// A frame that has come, with what it carries.
  struct Received {
    var frame: MessageFrame
    var payload: MessagePayload
    /// Of a sender's first frame: the name that it means.
    var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: payload.data, count: payload.size) }
  }
  enum Receipt {
    case frame(Received)
    case nothing
    /// The other end is closed, or has sent what no port sends.
    case closed
    /// There is no memory: try again later.
    case noMemory
  }

  /// Receives one frame, without waiting.
  func receive(from origin: MessageFrame.Origin) -> Receipt {
    guard let buffer = MessagePayload.makeBuffer() else { return .noMemory }
    let receipt = receive(into: buffer, from: origin)
    if case .frame(let received) = receipt, received.payload.isIn(buffer) { return receipt }
    treadle_system_free(buffer)
    return receipt
  }

  private func receive(into buffer: UnsafeMutableRawPointer, from origin: MessageFrame.Origin) -> Receipt {
    var received = treadle_system_received()
    var attempts = 0
    while true {
      let result = treadle_system_socket_receive(number, buffer, MessagePayload.roomOfBuffer, &received)
      if result >= 0 { break }
      if result == 0 &- treadle_system_eintr() { continue }
      if result == 0 &- treadle_system_eagain() { return .nothing }
      // The kernel says once that the other end was closed before it had read everything: what it has sent is there still.
      if result == 0 &- treadle_system_econnreset() && attempts == 0 {
        attempts = 1
        continue
      }
      return result == 0 &- treadle_system_enomem() || result == 0 &- treadle_system_enobufs() ? .noMemory : .closed
    }
    defer { treadle_system_socket_close(received.passed) }
    if received.size == 0 || received.is_odd { return .closed }
    let bytes = UnsafeRawBufferPointer(start: buffer, count: MessagePayload.roomOfBuffer)
    guard let frame = MessageFrame.parse(bytes, size: Int(received.size), hasFile: received.passed >= 0, from: origin) else {
      return .closed
    }
    if received.passed < 0 { return .frame(Received(frame: frame, payload: MessagePayload(in: buffer, size: frame.length))) }
    guard let payload = MessagePayload(file: received.passed, size: frame.length) else { return .closed }
    return .frame(Received(frame: frame, payload: payload))
  }
}
