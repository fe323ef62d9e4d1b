// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A chat server: chat [PORT]. Who connects gets what the others say, line by line; /name NAME, /who, /quit. It ends with SIGTERM or
// SIGINT, and lets everybody go.
//
// The main loop accepts; the room lives on a loop, and each connection on one of two others.

import Glibc
import Treadle

func fail(_ what: String) -> Never {
  perror(what)
  exit(1)
}

/// A socket of this machine's that listens, and does not block.
func listen(on port: UInt16) -> Int32 {
  let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var yes: Int32 = 1
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
  // What a guest does not read in time is counted in its connection, and not kept by the kernel.
  var sendBuffer: Int32 = 1 << 16
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &sendBuffer, socklen_t(MemoryLayout<Int32>.size))
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isBound = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(socket, $0, size) == 0 && Glibc.listen(socket, 128) == 0 && getsockname(socket, $0, &size) == 0
    }
  }
  if socket < 0 || !isBound { fail("chat: cannot listen") }
  print("listening on port \(UInt16(bigEndian: address.sin_port))")
  fflush(nil)
  return socket
}

let mainLoop = try RunLoop.main()
// Before there are threads, which would get the signals in place of the loop.
let signals = try mainLoop.posixSignals(SIGTERM, SIGINT)
// The tasks below are the main actor's, which nothing else runs.
try RunLoop.serveMainActor()
let listener = listen(on: CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 0)
let roomThread = try RunLoopThread.startWorker(name: "room")
let workers = try (0..<2).map { try RunLoopThread.startWorker(name: "connections \($0)") }
let room = try Room(on: roomThread.loop)
let arrivals = try mainLoop.readiness(of: listener, label: "listener")

let serving = Task {
  await withDiscardingTaskGroup { group in
    var number = 0
    for await _ in arrivals {
      let socket = accept(listener, nil, nil)
      if socket < 0 { continue }
      _ = fcntl(socket, F_SETFL, O_NONBLOCK)
      number += 1
      do {
        let connection = try Connection(socket, number: number, in: room, on: workers[number % workers.count].loop)
        group.addTask { await connection.serve() }
      } catch {
        print("chat: refused somebody: \(error)")
        close(socket)
      }
    }
    // No more arrive; the group waits for those who are there.
    await room.close()
  }
  mainLoop.stop()
}
Task {
  for await signal in signals {
    print("ends by signal \(signal.number)")
    break
  }
  arrivals.end()
}

try mainLoop.run(whenEmpty: true)
for worker in workers + [roomThread] { try worker.stopAndJoin() }
close(listener)
print("everybody is gone")
