// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The list of host tests, in Swift: threads, what ends while it is used, ports, scopes and closures.
import Glibc
import Synchronization
import Treadle

/// Opened once; others wait until it is.
final class Door: Sendable {
  private let isOpen = Atomic(false)
  func open() { isOpen.store(true, ordering: .releasing) }
  func pass() { while !isOpen.load(ordering: .acquiring) { sched_yield() } }
}

func threadOrder() throws {
  let worker = try RunLoopThread.startWorker()
  for i in 1...100 { try worker.perform { require(worker.isCurrent && told.count() == i) } }
  try worker.perform(waitUntilDone: true) {}
  require(told.counted == 100)
  try worker.stopAndJoin()
}
func threadClosed() throws {
  let worker = try RunLoopThread.startWorker()
  try worker.stopAndJoin()
  refuses(.closed, "thread") { try worker.perform {} }
  refuses(.closed, "thread") { try worker.perform(waitUntilDone: true) {} }
}
func threadAtOnce() throws {
  let worker = try RunLoopThread.startWorker(), loop = try worker.loop, inside = Door(), goOn = Door()
  try loop.post {
    told.note("first")
    inside.open()
    goOn.pass()
  }
  for _ in 0..<3 { try loop.post { told.note("other") } }
  inside.pass()
  worker.stop(atOnce: true)
  goOn.open()
  try worker.join()
  said("first")
  refuses(.closed, "") { try loop.post { told.note("late") } }
  loop.wakeUp()
}
func deadlock() throws {
  let worker = try RunLoopThread.startWorker(), own = try RunLoopThread.current()
  try worker.perform(waitUntilDone: true) {
    refuses(.deadlock, "thread") { try own.perform(waitUntilDone: true) {} }
    told.note("refused")
  }
  said("refused")
  try worker.stopAndJoin()
}
func threadOfLoop() throws {
  let worker = try RunLoopThread.startWorker(), loop = try worker.loop
  require(try loop.thread == worker)
  require(try RunLoop.current().thread.isCurrent)
  try worker.stopAndJoin()
  refuses(.notFound, "finished") { _ = try loop.thread }
}
final class Kept: Sendable {
  deinit { told.note("gone") }
}
func values() throws {
  let worker = try RunLoopThread.startWorker()
  try worker.perform(waitUntilDone: true) { try RunLoopThread.current()["key"] = Kept() }
  require(worker["key"] is Kept)
  said("")
  try worker.stopAndJoin()
  said("gone")
  refuses(.state, "thread") { try worker.setValue(1, forKey: "key") }
}
func closes() throws {
  let worker = try RunLoopThread.startWorker(), inside = Door(), goOn = Door()
  let source = try RunLoopSource { source in
    refuses(.deadlock, "object") { try source.close() }
    inside.open()
    goOn.pass()
  }
  try worker.loop.add(source)
  source.signal()
  inside.pass()
  refuses(.timeout, "") { try source.close(timeout: .nanoseconds(1)) }
  require(!source.isValid)
  goOn.open()
  try source.close()
  try worker.stopAndJoin()
}

// MARK: Ports

func inbox(_ capacity: Int? = nil) throws -> RunLoopPort {
  try added(
    RunLoopPort(capacity: capacity) { _, message in
      told.note("\(message.id)")
      for part in message.components { told.note(part.port == nil ? String(decoding: part.bytes ?? [], as: UTF8.self) : "port") }
      try message.replyPort?.send(bytes: [UInt8]("yes".utf8), id: 2)
    })
}
func message() throws {
  let port = try inbox()
  try port.send([.text("ab"), .port(port)], id: 1)
  try port.send(bytes: [UInt8]("c".utf8), id: 2)
  try pass()
  said("1abport")
  try pass()
  said("1abport2c")
}
func reply() throws {
  try inbox().send(id: 1, replyPort: inbox())
  for _ in 0..<2 { try pass() }
  said("12yes")
}
func portFull() throws {
  let port = try inbox(1)
  try port.send(bytes: [97], id: 1, timeout: .zero)
  refuses(.timeout, "") { try port.send(bytes: [98], id: 1, timeout: .zero) }
  try pass()
  said("1a")
  try port.send(bytes: [99], id: 2, timeout: .zero)
}
func portEnded() throws {
  let port = try inbox()
  try port.send(bytes: [97], id: 1)
  port.invalidate()
  refuses(.closed, "port") { try port.send(bytes: [98], id: 1) }
  require(try RunLoop.current().run(in: mode) == .finished)
  said("")
}

// MARK: Scopes and closures

func scope() throws {
  let loop = try RunLoop.current(), scope = try RunLoopScope()
  let source = try scope.enter {
    let source = try RunLoopSource { _ in told.note("s") }
    try loop.add(source, to: mode)
    try loop.post(in: [mode]) { told.note("p") }
    source.signal()
    return source
  }
  require(source.isValid)
  try scope.close()
  require(!source.isValid)
  for _ in 0..<2 { try pass() }
  said("")
}
func scopeClosed() throws {
  let scope = try RunLoopScope()
  try scope.enter {
    try scope.close()
    refuses(.closed, "scope") { _ = try RunLoopSource { _ in } }
    refuses(.closed, "scope") { try RunLoop.current().post {} }
  }
  refuses(.closed, "scope") { try scope.enter {} }
}
func closure() throws {
  var numbers: [Int32] = [3, 1, 2]
  let made = try RunLoopClosure { (one: UnsafeRawPointer?, two: UnsafeRawPointer?) -> Int32 in
    told.note("c")
    guard let one = one?.load(as: Int32.self), let two = two?.load(as: Int32.self) else { return 0 }
    return one > two ? 1 : one < two ? -1 : 0
  }
  typealias Compare = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> Int32
  try made.function.withPointer(as: Compare.self) { qsort(&numbers, 3, 4, $0) }
  require(numbers == [1, 2, 3] && !told.words.isEmpty, "\(numbers)")
  try made.close()
  require(!made.isValid)
}

let threadCases: [String: @Sendable () throws -> Void] = [
  "thread-order": threadOrder, "thread-closed": threadClosed, "thread-at-once": threadAtOnce, "deadlock": deadlock,
  "thread-of-loop": threadOfLoop, "values": values,
  "close": closes, "message": message, "reply": reply, "port-full": portFull, "port-ended": portEnded, "scope": scope,
  "scope-closed": scopeClosed, "closure": closure,
]
