// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Testing
import TestSupport

@testable import TreadlePorts

/// The parser of what comes in over a message port's socket: anything may.
@Suite struct MessageFrameTests {
  private func bytes(_ frame: MessageFrame, _ dataSize: Int? = nil) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: MessageFrame.size + (dataSize ?? frame.length))
    bytes.withUnsafeMutableBytes { frame.write(to: $0) }
    return bytes
  }

  private func parse(_ bytes: [UInt8], size: Int? = nil, files: Int = 0, _ origin: MessageFrame.Origin) -> MessageFrame? {
    bytes.withUnsafeBytes { MessageFrame.parse($0, size: size ?? bytes.count, files: files, from: origin) }
  }

  /// The frames that ports send, of which the random ones are made.
  private var corpus: [(frame: MessageFrame, files: Int, origin: MessageFrame.Origin)] {
    [
      (MessageFrame(kind: 1, length: 1), 0, .sender),
      (MessageFrame(kind: 1, length: 255), 0, .sender),
      (MessageFrame(kind: 2, length: 0, id: -1), 0, .sender),
      (MessageFrame(kind: 2, flags: 1, length: 5, serial: 1, id: 7), 0, .sender),
      (MessageFrame(kind: 2, flags: 1, length: 300, serial: UInt32.max, id: Int32.min), 0, .sender),
      (MessageFrame(kind: 2, flags: 2, length: 65537, id: 7), 1, .sender),
      (MessageFrame(kind: 2, flags: 3, length: MessageFrame.mostBytes, serial: 9, id: 7), 1, .sender),
      (MessageFrame(kind: 3, length: 0, serial: 1), 0, .server),
      (MessageFrame(kind: 3, length: 17, serial: 2), 0, .server),
      (MessageFrame(kind: 3, flags: 2, length: 100_000, serial: 3), 1, .server),
      (MessageFrame(kind: 3, flags: 4, length: 0, serial: 4), 0, .server),
      (MessageFrame(kind: 5, length: 0), 3, .server),
    ]
  }

  @Test("MSG-9: What is written is read") func whatIsWrittenIsRead() {
    for (frame, files, origin) in corpus {
      let whole = bytes(frame, files > 0 ? 0 : nil)
      #expect(parse(whole, files: files, origin) == frame)
      // From the wrong side, with more files or fewer, and in part, it is nothing.
      #expect(parse(whole, files: files, origin == .sender ? .server : .sender) == nil)
      for other in 0...4 where other != files { #expect(parse(whole, files: other, origin) == nil) }
      for size in 0..<whole.count { #expect(parse(Array(whole.prefix(size)), files: files, origin) == nil) }
      #expect(parse(whole, size: whole.count + 1, files: files, origin) == nil)
      #expect(parse(whole + [0], files: files, origin) == nil)
    }
  }

  /// A million of inputs: frames with some of their bytes changed, and noise. What is taken is what would be sent.
  @Test("MSG-9: Whatever comes in, what is taken is a frame that a port sends") func whateverComesIn() {
    var random = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: .min ... .max, using: &random)
    var state = seed
    func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    let seeds = corpus.map { (bytes($0.frame, $0.files > 0 ? 0 : nil), $0.files, $0.origin) }
    let interesting: [UInt8] = [0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF]
    var room = [UInt8](repeating: 0, count: 512)
    var taken = 0
    let rounds = scaled(1_000_000)
    for _ in 0..<rounds {
      let (whole, hadFiles, origin) = seeds[Int(next() % UInt64(seeds.count))]
      var size = whole.count
      room.replaceSubrange(0..<size, with: whole)
      let change = next()
      for step in 0..<(change & 3) {
        let place = Int((change >> (8 + 8 * step)) & 0xFF) % 40
        room[place] = next() & 1 == 0 ? interesting[Int(next() & 7)] : UInt8(truncatingIfNeeded: next() >> 20)
      }
      if change & 0x30 == 0 { size = Int(next() % 512) }
      let files = change & 0xC0 == 0 ? Int(next() % 4) : hadFiles
      let frame = room.withUnsafeBytes { MessageFrame.parse($0, size: size, files: files, from: origin) }
      guard let frame else { continue }
      taken += 1
      var again = [UInt8](repeating: 0xAA, count: MessageFrame.size)
      again.withUnsafeMutableBytes { frame.write(to: $0) }
      let isSame = again.elementsEqual(room.prefix(MessageFrame.size))
      let isInFile = files == 1
      let isWhole = isInFile ? size == MessageFrame.size && frame.length > 0 : size == MessageFrame.size + frame.length
      if !isSame || !isWhole || frame.length > MessageFrame.mostBytes { Issue.record("seed \(seed): \(frame)") }
    }
    #expect(taken > 1000 && taken < rounds, "seed \(seed)")
  }

  @Test("OBJ-6: A message's layout is that of the C header") func layout() {
    #expect(MemoryLayout<MessageView>.size == MemoryLayout<treadle_message_port_message>.size)
    #expect(MemoryLayout<MessageView>.offset(of: \.data) == MemoryLayout<treadle_message_port_message>.offset(of: \.data))
    #expect(MemoryLayout<MessageView>.offset(of: \.size) == MemoryLayout<treadle_message_port_message>.offset(of: \.size))
    #expect(MemoryLayout<MessageView>.offset(of: \.call) == MemoryLayout<treadle_message_port_message>.offset(of: \.call))
    #expect(MemoryLayout<MessageView>.offset(of: \.id) == MemoryLayout<treadle_message_port_message>.offset(of: \.id))
    #expect(MemoryLayout<MessageView>.offset(of: \.flags) == MemoryLayout<treadle_message_port_message>.offset(of: \.flags))
    #expect(MemoryLayout<MessageView>.offset(of: \.senderProcess) == MemoryLayout<treadle_message_port_message>.offset(of: \.sender_process))
    #expect(MemoryLayout<MessageView>.offset(of: \.senderUser) == MemoryLayout<treadle_message_port_message>.offset(of: \.sender_user))
    #expect(UInt64(MessageFrame.mostBytes) == 0x6000_0000 && MessageFrame.mostName == Int(TREADLE_MESSAGE_PORT_NAME))
  }
}
