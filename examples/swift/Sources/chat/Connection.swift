// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Glibc
import Treadle

/// One who is connected: reads lines from the socket, and writes what the room says. Lives on one of the loops, so that all of its
/// reads and writes are on one thread.
actor Connection {
  private let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let loop: RunLoop
  /// Not blocking; closed with the actor.
  private let socket: Int32
  private let room: Room
  private var name: String
  private var received: [UInt8] = []
  /// What the socket did not take yet.
  private var unsent: [UInt8] = []
  private var isWriting = false
  /// Ends with `finish`.
  private let input: RunLoopSequence<RunLoopReadiness>

  /// Who reads nothing for so long is let go.
  private static let mostUnsent = 1 << 20
  private static let longestLine = 1 << 16

  init(_ socket: Int32, number: Int, in room: Room, on loop: RunLoop) throws {
    executor = try loop.executor
    self.loop = loop
    self.socket = socket
    self.room = room
    name = "guest\(number)"
    input = try loop.readiness(of: socket, label: name)
  }

  deinit { close(socket) }

  /// Until the other side ends, or the room closes.
  func serve() async {
    await room.enter(self, as: name)
    reading: for await _ in input {
      guard receive() else { break }
      while let line = nextLine() {
        guard await obey(line) else { break reading }
      }
    }
    finish()
    await room.leave(self)
  }

  /// Ends the reading, and so the task that serves.
  func finish() { input.end() }

  /// Writes a line, now or as soon as the socket takes it.
  func tell(_ line: String) {
    unsent += Array((line + "\n").utf8)
    if unsent.count > Connection.mostUnsent { return finish() }
    if !isWriting { send() }
  }

  private func obey(_ line: String) async -> Bool {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    switch (words.first, words.dropFirst().first) {
    case (nil, _): break
    case ("/quit", _): return false
    case ("/who", _): tell(await room.names.joined(separator: ", "))
    case ("/name", let wanted?):
      if await room.rename(self, wanted) { name = wanted } else { tell("* \(wanted) is taken") }
    case (let word?, _) where word.hasPrefix("/"): tell("* /name NAME, /who, /quit")
    default: await room.say("\(name): \(line)")
    }
    return true
  }

  /// All that is there; false at the end.
  private func receive() -> Bool {
    var room = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(socket, &room, room.count)
      if count > 0 {
        received += room[..<count]
        if received.count > Connection.longestLine { return false }
      } else {
        return count < 0 && (errno == EAGAIN || errno == EINTR)
      }
    }
  }

  private func nextLine() -> String? {
    guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let line = String(decoding: received[..<end], as: UTF8.self)
    received.removeSubrange(...end)
    return line.hasSuffix("\r") ? String(line.dropLast()) : line
  }

  private func send() {
    let count = Glibc.send(socket, unsent, unsent.count, Int32(MSG_NOSIGNAL))
    if count > 0 { unsent.removeFirst(count) }
    if count < 0 && errno != EAGAIN && errno != EINTR { return finish() }
    if unsent.isEmpty || isWriting { return }
    isWriting = true
    Task { await sendRest() }
  }

  private func sendRest() async {
    // A mode has one source for a descriptor, which is the input's: the wait for room watches a duplicate.
    let duplicate = dup(socket)
    guard duplicate >= 0, let room = try? loop.readiness(of: duplicate, for: .writable) else {
      if duplicate >= 0 { close(duplicate) }
      return finish()
    }
    for await _ in room {
      send()
      if unsent.isEmpty || !input.isValid { break }
    }
    room.end()
    close(duplicate)
    isWriting = false
  }
}
