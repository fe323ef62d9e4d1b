// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Testing
import TestSupport

@testable import TreadlePorts

/// The rings of message ports, both ends in one process, and an end whose memory the other one writes at random.
@Suite struct MessageRingTests {
  /// Both ends, and the memory once more.
  private struct Ends {
    let server: MessageRing.Pointer
    let sender: MessageRing.Pointer
    let memory: UnsafeMutableRawPointer

    init() throws {
      let made = try #require(MessageRing.make())
      defer { made.file.close() }
      server = made.ring
      memory = try #require(treadle_system_ring_map(made.file.number, MessageRing.size))
      let bells = (treadle_system_duplicate(server.pointee.otherBell.number), treadle_system_duplicate(server.pointee.ownBell.number))
      sender = try #require(MessageRing.adopt(treadle_system_duplicate(made.file.number), own: bells.0, other: bells.1))
    }

    func free() {
      MessageRing.end(server)
      MessageRing.end(sender)
      treadle_system_ring_unmap(memory, MessageRing.size)
    }
  }

  private func message(_ length: Int, _ serial: UInt32) -> MessageFrame {
    MessageFrame(kind: MessageFrame.Kind.message, flags: MessageFrame.Flag.wantsReply, length: length, serial: serial)
  }

  @Test("MSG-9: What one end puts into a ring, the other takes out in its order") func inOrder() throws {
    let ends = try Ends()
    defer { ends.free() }
    var sent: UInt32 = 0
    var taken: UInt32 = 0
    var wasFull = false
    var received = MessageSocket.Received()
    let bytes = (0..<MessageRing.mostData).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    while taken < 20000 {
      let length = Int(sent &* 2_654_435_761 % UInt32(sent % 50 == 0 ? MessageRing.mostData + 1 : 300))
      let frame = message(length, sent + 1)
      if sent - taken < 400, case .done = bytes.withUnsafeBytes({ ends.sender.pointee.push(frame, $0.baseAddress) }) {
        sent += 1
        continue
      }
      if sent - taken < 400 { wasFull = true }
      guard ends.server.pointee.pop(&received) == .frame else {
        Issue.record("frame \(taken) is not there")
        return
      }
      taken += 1
      #expect(received.frame.serial == taken)
      let isSame = UnsafeRawBufferPointer(start: received.payload.data, count: received.payload.size).elementsEqual(bytes.prefix(received.frame.length))
      #expect(isSame)
      received.payload.free()
    }
    #expect(wasFull)
  }

  @Test("MSG-9: What is too large for a ring or has no room in it is not put there") func bounds() throws {
    let ends = try Ends()
    defer { ends.free() }
    let bytes = [UInt8](repeating: 1, count: MessageRing.mostData + 1)
    func push(_ length: Int) -> MessageRing.Outcome {
      bytes.withUnsafeBytes { ends.sender.pointee.push(message(length, 1), $0.baseAddress) }
    }
    #expect(push(MessageRing.mostData + 1) == .full)
    var count = 0
    while push(MessageRing.mostData) == .done { count += 1 }
    #expect(count == 3)
    while push(0) == .done { count += 1 }
    #expect(ends.server.pointee.isEmpty == false)
    var received = MessageSocket.Received()
    while ends.server.pointee.pop(&received) == .frame {
      received.payload.free()
      count -= 1
    }
    #expect(count == 0 && ends.server.pointee.isEmpty)
  }

  @Test("MSG-9: Descriptors that are no ring are refused") func others() throws {
    let made = try #require(MessageRing.make())
    defer {
      MessageRing.end(made.ring)
      made.file.close()
    }
    let bell = made.ring.pointee.ownBell.number
    func copy(_ number: Int32) -> Int32 { treadle_system_duplicate(number) }
    var size = MessageRing.size
    let sealed = treadle_system_sealed_file(&size, 8)
    let small = treadle_system_ring_file(MessageRing.size - 4096)
    let large = treadle_system_ring_file(MessageRing.size + 4096)
    let epoll = treadle_system_epoll_create()
    func isRefused(_ file: Int32, own: Int32, other: Int32) -> Bool {
      MessageRing.adopt(copy(file), own: copy(own), other: copy(other)) == nil
    }
    for file in [sealed, small, large, bell, epoll] { #expect(isRefused(file, own: bell, other: bell)) }
    for other in [made.file.number, epoll, sealed, -1] {
      #expect(isRefused(made.file.number, own: bell, other: other))
      #expect(isRefused(made.file.number, own: other, other: bell))
    }
    for number in [sealed, small, large, epoll] { treadle_system_socket_close(number) }
  }

  @Test("MSG-9: An end that has asked for the bell and missed a frame learns of it, and is rung for the next") func sleeping() throws {
    let ends = try Ends()
    defer { ends.free() }
    let set = treadle_system_epoll_create()
    defer { treadle_system_socket_close(set) }
    let inputByEdges: UInt32 = 1 << 31 | 1
    #expect(treadle_system_epoll_control(set, 1, ends.server.pointee.ownBell.number, inputByEdges, 7) == 0)
    func isRung() -> Bool {
      var event = treadle_system_event()
      return treadle_system_epoll_wait(set, &event, 1, 0) == 1
    }
    // The macros of the tests take no noncopyable types apart.
    func fallsAsleep() -> Bool { ends.server.pointee.fallAsleep() }
    #expect(isRung() && !isRung())
    // Awake: no bell, and no sleep either.
    #expect(ends.sender.pointee.push(message(0, 1), nil) == .done)
    #expect(!isRung())
    #expect(!fallsAsleep())
    var received = MessageSocket.Received()
    guard ends.server.pointee.pop(&received) == .frame else {
      Issue.record("the frame is not there")
      return
    }
    // Asleep: one bell for what comes before it asks again.
    #expect(fallsAsleep())
    #expect(!isRung())
    #expect(ends.sender.pointee.push(message(0, 2), nil) == .done)
    #expect(isRung())
    #expect(ends.sender.pointee.push(message(0, 3), nil) == .done)
    #expect(!isRung())
    ends.server.pointee.ringOwnBell()
    #expect(isRung() && !isRung())
  }

  /// Any word of the memory, at any time: an end takes frames that ports send, or finds that there is something wrong.
  @Test("MSG-9: Whatever the other end writes, what is taken is a frame that a port sends") func whateverIsWritten() throws {
    var random = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 1 ... .max, using: &random)
    var state = seed
    func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    let numbers: [UInt32] = [0, 1, 31, 32, 33, 64, 65535, 65536, 65537, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFE0, 0xFFFF_FFFF]
    var ends = try Ends()
    defer { ends.free() }
    var taken = 0
    var broken = 0
    var received = MessageSocket.Received()
    for _ in 0..<scaled(300_000) {
      let isBySender = next() & 1 == 0
      let end = isBySender ? ends.server : ends.sender
      let frame = isBySender ? message(Int(next() % 200), 5) : MessageFrame(kind: MessageFrame.Kind.reply, length: Int(next() % 200), serial: 5)
      let data = [UInt8](repeating: 9, count: 200)
      let outcome = data.withUnsafeBytes { (isBySender ? ends.sender : ends.server).pointee.push(frame, $0.baseAddress) }
      for _ in 0..<(next() % 4) {
        let number = next() & 1 == 0 ? numbers[Int(next() % UInt64(numbers.count))] : UInt32(truncatingIfNeeded: next())
        // Indices and flags, what begins a ring, or anything.
        let place = next() & 3 == 0 ? Int(next() % 9) * 64 : 4096 + Int(next() % (next() & 1 == 0 ? 256 : 2 * UInt64(MessageRing.capacity)))
        ends.memory.storeBytes(of: number, toByteOffset: place & ~3, as: UInt32.self)
      }
      var isBroken = outcome == .broken
      taking: for _ in 0..<8 {
        switch end.pointee.pop(&received) {
        case .frame:
          taken += 1
          if received.frame.length > MessageRing.mostData || received.payload.size != received.frame.length { Issue.record("seed \(seed)") }
          let sum = UnsafeRawBufferPointer(start: received.payload.data, count: received.payload.size).reduce(0) { $0 &+ Int($1) }
          if sum < 0 { Issue.record("seed \(seed)") }
          received.payload.free()
        case .closed:
          isBroken = true
          break taking
        case .nothing, .noMemory: break taking
        }
      }
      _ = end.pointee.fallAsleep()
      if !isBroken { continue }
      broken += 1
      ends.free()
      ends = try Ends()
    }
    #expect(taken > 1000 && broken > 1000, "seed \(seed)")
  }
}
