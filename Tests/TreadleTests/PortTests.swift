// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Glibc
import Testing
import Treadle

/// Ports and messages.
@Suite("Ports")
struct PortTests {
  @Test("PORT-6 MPORT-2: messages arrive in their order, with all that was in them")
  func messages() throws {
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let port = try RunLoopPort(label: "inbox") { port, message in
        let parts = message.components.map { $0.bytes.map { String(decoding: $0, as: UTF8.self) } ?? ($0.port == port ? "itself" : "?") }
        log.add("\(message.id) \(parts.joined(separator: "+")) \(String(decoding: message.bytes, as: UTF8.self)) \(message.port == port)")
        if message.id == 3 { loop.stop() }
      }
      #expect("\(port)".contains("inbox") && port.capacity == 1024 && port.count == 0)
      try port.send(bytes: [UInt8]("one".utf8), id: 1)
      try port.send([.text("two"), .bytes([]), .port(port)], id: 2)
      try port.send(id: 3)
      #expect(port.count == 3)
      try loop.add(port)
      let items = try loop.items()
      #expect(loop.contains(port) && items == [port] && items.first is RunLoopPort)
      let result = try loop.run(for: patience)
      #expect(result == .stopped)
      #expect(loop.counters.messages == 3 && port.count == 0)
      port.invalidate()
      #expect(status { try port.send(id: 4) } == .closed)
      #expect(status { try port.send(bytes: []) } == .closed)
    }
    #expect(log.all == ["1 one one true", "2 two++itself two true", "3   true"])
  }

  @Test("MPORT-3: an answer goes to the reply port, also of a message that was kept")
  func answers() throws {
    try withLoopThread { worker in
      let kept = Guarded<[RunLoopMessage]>([])
      let server = try RunLoopPort { _, message in kept.withLock { $0.append(message) } }
      try worker.loop.add(server)
      let answer = Guarded<String>("")
      try onThread {
        let loop = try RunLoop.current()
        let client = try RunLoopPort { _, message in
          answer.withLock { $0 = String(decoding: message.bytes, as: UTF8.self) }
          loop.stop()
        }
        try loop.add(client)
        try server.send([.text("what")], id: 7, replyPort: client)
        try worker.perform(waitUntilDone: true) {}
        while kept.withLock({ $0.isEmpty }) { try worker.perform(waitUntilDone: true) {} }
        try worker.perform {
          let message = kept.withLock { $0.removeFirst() }
          try message.replyPort?.send(bytes: message.bytes + [33], timeout: .zero)
        }
        #expect(try loop.run(for: patience) == .stopped)
        client.invalidate()
      }
      #expect(answer.withLock { $0 } == "what!")
      server.invalidate()
    }
  }

  @Test("MPORT-2: a descriptor is copied, and may be taken once; one that nobody takes is closed")
  func descriptors() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (reading, writing) = (ends[0], ends[1])
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let port = try RunLoopPort { _, message in
        let lent = message.components[0].descriptor
        let taken = try message.takeDescriptor(at: 0)
        log.add("\(lent == taken && taken != writing)")
        log.add("\(message.components[0].descriptor == nil) \(message)")
        log.add("\(status { _ = try message.takeDescriptor(at: 0) } == .notFound) \(status { _ = try message.takeDescriptor(at: 1) } == .range)")
        _ = write(taken, "x", 1)
        close(taken)
        loop.stop()
      }
      try port.send([.descriptor(writing)])
      close(writing)
      #expect(status { try port.send([.descriptor(-1)]) } == .argument)
      try loop.add(port)
      #expect(try loop.run(for: patience) == .stopped)
      port.invalidate()
    }
    var bytes: [UInt8] = [0, 0]
    #expect(read(reading, &bytes, 2) == 1 && bytes[0] == 120)
    #expect(read(reading, &bytes, 2) == 0)
    close(reading)
    #expect(log.all == ["true", "true RunLoopMessage(0, nothing)", "true true"])
  }

  @Test("MPORT-1 PORT-2: a full port is not waited for by the only thread that could make room; a small one says so")
  func full() throws {
    try onThread {
      let port = try RunLoopPort(capacity: 1) { _, _ in }
      try RunLoop.current().add(port)
      try port.send(id: 1)
      #expect(status { try port.send(id: 2, timeout: .zero) } == .timeout)
      #expect(status { try port.send(id: 2) } == .deadlock)
      #expect(port.count == 1 && port.capacity == 1)
      port.invalidate()
      #expect(status { try port.send(id: 2) } == .closed)
    }
    for capacity in [0, -1, 16_777_216, .max] { #expect(status { _ = try RunLoopPort(capacity: capacity) { _, _ in } } == .range) }
  }
}
