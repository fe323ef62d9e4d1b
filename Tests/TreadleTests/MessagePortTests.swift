// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Glibc
import Testing
import Treadle

private let replies: RunLoopMode = "replies"

/// What exported functions take and return.
private struct Point: RunLoopValue {
  var x = 0.0
  var y = 0.0
  static var typeEncoding: String { "{Point=dd}" }
}

/// Message ports.
@Suite("Message ports")
struct MessagePortTests {
  private static let used = Guarded(0)

  /// A name that no other test has.
  private static func newName() -> String {
    "treadle.swift.\(getpid()).\(used.withLock { number in number += 1; return number })"
  }

  /// A port for a name that another port has just left: a child process that another test starts at the moment has the name until its
  /// program begins.
  private static func servingAgain(_ name: String, users: [UInt32]) throws -> RunLoopMessagePort {
    var port: RunLoopMessagePort?
    while status({ port = try RunLoopMessagePort(serving: name, users: users) { _, _ in [9] } }) == .exists {
      RunLoopThread.sleep(for: .milliseconds(1))
    }
    return try #require(port)
  }

  private static func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }
  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test("MSG-4 MSG-5 MSG-6: a message arrives, and a request gets its reply, from another thread and from its own")
  func replying() throws {
    let log = Log()
    let name = Self.newName()
    try withLoopThread { worker in
      let local = try RunLoopMessagePort(serving: name, label: "inbox") { port, message in
        log.add("\(message.id) \(Self.text(message.bytes)) \(message.wantsReply) \(port.isRemote)")
        #expect(message.senderProcess == getpid() && message.senderUser == getuid())
        return message.id == 3 ? nil : Self.bytes("re: ") + message.bytes
      }
      try worker.loop.add(local)
      let items = try worker.loop.items()
      #expect(items.contains { $0 == local && $0 is RunLoopMessagePort } && local.name == name && "\(local)".contains("inbox"))
      try onThread {
        let remote = try RunLoopMessagePort(sendingTo: name)
        #expect(remote.isRemote && remote.name == name && remote.isUsable())
        try remote.send(Self.bytes("one"), id: -1)
        #expect(try remote.request(Self.bytes("two"), id: 2, in: replies) == Self.bytes("re: two"))
        #expect(try remote.request(id: 3).isEmpty)
        let large = [UInt8](repeating: 120, count: 200_000)
        #expect(try remote.request(large, id: 4, in: replies, timeout: patience).count == 200_004)
        #expect(status { _ = try remote.request(in: .common) } == .argument)
        #expect(status { try local.send() } == .state)
      }
      local.invalidate()
    }
    #expect(log.all.prefix(3) == ["-1 one false false", "2 two true false", "3  true false"])
    try onThread {
      let loop = try RunLoop.current()
      let local = try RunLoopMessagePort(serving: name) { _, message in message.bytes.reversed() }
      try loop.add(local, to: replies)
      #expect(try RunLoopMessagePort(sendingTo: name).request([1, 2], in: replies) == [2, 1])
      local.invalidate()
    }
  }

  @Test("MSG-6 MSG-8: no room in time and no reply in time are told apart; a late reply is dropped")
  func timeouts() throws {
    let name = Self.newName()
    try onThread {
      let loop = try RunLoop.current()
      let local = try RunLoopMessagePort(serving: name) { _, message in message.bytes }
      let remote = try RunLoopMessagePort(sendingTo: name)
      #expect(status { _ = try remote.request([1], in: replies, timeout: .zero) } == .noReply)
      try loop.add(local, to: replies)
      #expect(try remote.request([2], in: replies) == [2])
      loop.remove(local, from: replies)
      #expect(status { while true { try remote.send([UInt8](repeating: 0, count: 50_000), timeout: .zero) } } == .timeout)
      #expect(status { _ = try remote.request([UInt8](repeating: 0, count: 50_000), in: replies, timeout: .zero) } == .timeout)
      local.invalidate()
    }
  }

  @Test("MSG-7: the end is told once, to both sides; what a body throws goes to the last resort")
  func ends() throws {
    let name = Self.newName()
    let log = Log()
    try onThread {
      let loop = try RunLoop.current()
      let local = try RunLoopMessagePort(serving: name, invalidated: { log.add("local \($0.isValid)") }) { _, _ in nil }
      let remote = try RunLoopMessagePort(sendingTo: name) { port in
        log.add("remote \(port.isValid)")
        loop.stop()
      }
      try loop.add(remote)
      local.invalidate()
      local.invalidate()
      #expect(try loop.run(for: patience) == .stopped)
      #expect(status { try remote.send() } == .state && !remote.isUsable())
      #expect(status { _ = try RunLoopMessagePort(sendingTo: name) } == .notFound)
    }
    #expect(log.all == ["local false", "remote false"])
  }

  @Test("MSG-1 MSG-2 MSG-3: a name is served once, and may change; a remote port is one for its name")
  func names() throws {
    let (first, second) = (Self.newName(), Self.newName())
    try onThread {
      let local = try RunLoopMessagePort(serving: nil) { _, _ in nil }
      #expect(local.name == nil)
      try local.rename(first)
      let remote = try RunLoopMessagePort(sendingTo: first)
      #expect(try RunLoopMessagePort(sendingTo: first) == remote)
      #expect(status { _ = try RunLoopMessagePort(sendingTo: first) { _ in } } == .exists)
      #expect(status { _ = try RunLoopMessagePort(serving: first) { _, _ in nil } } == .exists)
      #expect(status { try remote.rename(second) } == .state)
      try local.rename(second)
      #expect(local.name == second && !remote.isUsable())
      for bad in ["", "a\0b"] {
        #expect(status { _ = try RunLoopMessagePort(serving: bad) { _, _ in nil } } == .argument)
        #expect(status { _ = try RunLoopMessagePort(sendingTo: bad) } == .argument)
        #expect(status { try local.rename(bad) } == .argument)
      }
      #expect(status { _ = try RunLoopMessagePort(serving: first, users: [UInt32](repeating: 1, count: 1025)) { _, _ in nil } } == .range)
      let paused = try Self.servingAgain(first, users: [1, 2])
      try RunLoop.current().add(paused, to: replies)
      try paused.pause()
      let other = try RunLoopMessagePort(sendingTo: first)
      #expect(status { _ = try other.request(in: replies, timeout: .zero) } == .noReply)
      try paused.resume()
      #expect(try other.request(in: replies) == [9])
      paused.invalidate()
      local.invalidate()
    }
  }

  @Test("OBJ-2: bodies are released, whether their port was made or not")
  func releases() throws {
    let name = Self.newName()
    let gone = (0..<5).map { _ in Signal() }
    try onThread {
      let tracked = gone.map { Tracked($0) }
      let (receive, end, refused, taken, unnamed) = (tracked[0], tracked[1], tracked[2], tracked[3], tracked[4])
      let local = try RunLoopMessagePort(serving: name, invalidated: { _ in end.use() }) { _, _ in
        receive.use()
        return nil
      }
      _ = status {
        _ = try RunLoopMessagePort(serving: name) { _, _ in
          refused.use()
          return nil
        }
      }
      let remote = try RunLoopMessagePort(sendingTo: name)
      _ = status { _ = try RunLoopMessagePort(sendingTo: name) { _ in taken.use() } }
      _ = status { _ = try RunLoopMessagePort(sendingTo: "") { _ in unnamed.use() } }
      remote.invalidate()
      local.invalidate()
    }
    for signal in gone { try signal.wait() }
  }

  private static func bytes<Value: BitwiseCopyable>(of value: Value) -> [UInt8] { withUnsafeBytes(of: value) { [UInt8]($0) } }

  private static func exported(_ log: Log) throws -> [RunLoopMessagePort.ExportedFunction] {
    [
      .init("add", try RunLoopClosure { (a: Int32, b: Int32) in a &+ b }),
      .init("mirrored", try RunLoopClosure { (point: Point) in Point(x: point.y, y: point.x) }),
      .init("is odd", try RunLoopClosure { (number: Int) in number % 2 != 0 }),
      .init("note", try RunLoopClosure { (number: UInt8) in log.add("\(number)") }),
      unsafe .init("strlen", signature: "QO*", try RunLoopFunction(named: "strlen")),
      unsafe .init("fill", signature: "vo^CIQ", try RunLoopFunction(named: "memset")),
    ]
  }

  @Test("MSG-11: functions of the other side are called, with values and with memory")
  func calls() throws {
    let log = Log()
    let name = Self.newName()
    try withLoopThread { worker in
      // The port alone keeps the closures.
      let local = try RunLoopMessagePort(serving: name, functions: try Self.exported(log)) { _, _ in nil }
      try worker.loop.add(local)
      try onThread {
        let port = try RunLoopMessagePort(sendingTo: name)
        #expect(try port.call("add", with: Int32(40), Int32(2), returning: Int32.self, in: replies) == 42)
        let mirrored = try port.call("mirrored", with: Point(x: 1.5, y: -2), returning: Point.self, in: replies)
        #expect(mirrored.x == -2 && mirrored.y == 1.5)
        #expect(try port.call("is odd", with: 7, returning: Bool.self, in: replies, timeout: patience))
        try port.call("note", with: UInt8(200), in: replies)
        #expect(try port.call("strlen", with: "größer", returning: UInt.self, in: replies) == 8)

        var values: [[UInt8]?] = [[0, 0, 0, 0], Self.bytes(of: Int32(7)), Self.bytes(of: 3)]
        #expect(try port.call("fill", signature: "vo^CIQ", values: &values, in: replies) == [])
        #expect(values[0] == [7, 7, 7, 0] && values[2] == Self.bytes(of: 3))
        var text: [[UInt8]?] = [Self.bytes("four\0")]
        #expect(try port.call("strlen", signature: "QO*", values: &text, resultSize: 8, in: replies) == Self.bytes(of: 4))

        #expect(status { try port.call("subtract", in: replies) } == .notFound)
        #expect(status { try port.call("add", with: 1, in: replies) } == .signature)
        #expect(status { try port.call("add", with: UnsafeRawPointer?.none, in: replies) } == .signature)
        #expect(status { try port.call("strlen", with: "a\0b", in: replies) } == .argument)
        #expect(status { try port.call("a\0b", in: replies) } == .argument)
        #expect(status { try port.call("", in: replies) } == .range)
        #expect(status { try port.call("note", with: UInt8(1), in: .common) } == .argument)
        #expect(status { var none: [[UInt8]?] = []; try port.call("add", signature: "iii", values: &none, in: replies) } == .range)
        #expect(status { var none: [[UInt8]?] = []; try port.call("add", signature: "v", values: &none, resultSize: -1, in: replies) } == .range)
        #expect(status { var none: [[UInt8]?] = [nil, [1]]; try port.call("strlen", signature: "QO*", values: &none, resultSize: 8, in: replies) } == .range)
        #expect(status { var none: [[UInt8]?] = []; try port.call("a", signature: "v\0", values: &none, in: replies) } == .argument)
        #expect(status { try local.call("note", with: UInt8(1), in: replies) } == .state)
      }
      local.invalidate()
    }
    #expect(log.all == ["200"])
  }

  @Test("MSG-11 MSG-8: functions that do not travel are not exported; time passes")
  func refusedFunctions() throws {
    let name = Self.newName()
    let log = Log()
    try onThread {
      let abs = try RunLoopFunction(named: "abs")
      func refusal(_ name: String, _ signature: String) -> TreadleError.Code? {
        status {
          let bad = unsafe [RunLoopMessagePort.ExportedFunction(name, signature: signature, abs)]
          _ = try RunLoopMessagePort(serving: Self.newName(), functions: bad) { _, _ in nil }
        }
      }
      #expect(refusal("bad", "v^v") == .signature && refusal("bad", "v*") == .signature)
      #expect(refusal("", "v") == .range && refusal("a\0b", "v") == .argument && refusal("b", "v\0") == .argument)
      let pointers = RunLoopMessagePort.ExportedFunction("bad", try RunLoopClosure { (_: UnsafeRawPointer?) in log.add("called") })
      #expect("\(pointers)" == "ExportedFunction(“bad”, “v^v”)")
      #expect(status { _ = try RunLoopMessagePort(serving: name, functions: [pointers]) { _, _ in nil } } == .signature)

      let local = try RunLoopMessagePort(serving: name, functions: try Self.exported(log)) { _, _ in nil }
      let port = try RunLoopMessagePort(sendingTo: name)
      #expect(status { try port.call("note", with: UInt8(1), in: replies, timeout: .zero) } == .noReply)
      try RunLoop.current().add(local, to: replies)
      #expect(try port.call("is odd", with: 2, returning: Bool.self, in: replies) == false)
      local.invalidate()
      #expect(status { try port.call("note", with: UInt8(1), in: replies) } == .closed)
    }
  }
}
