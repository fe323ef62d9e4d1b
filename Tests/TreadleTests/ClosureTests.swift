// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import Treadle

#if canImport(Glibc)
  import Glibc
#endif

private struct Wrong: Error {}

/// A struct of C's: it fits two registers.
private struct Point: RunLoopValue, Equatable {
  var x = 0.0, y = 0.0
  static var typeEncoding: String { "{Point=dd}" }
}

/// What is said to be a short one of C's.
private struct Lie: RunLoopValue {
  var bits: Int64 = 0
  static var typeEncoding: String { "s" }
}

private typealias Compare = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> Int32
private typealias Add = @convention(c) (Int32) -> Int32

/// C function pointers with bodies of Swift.
@Suite("Closures")
struct ClosureTests {
  /// Adds one on a loop; its default result is -1.
  private func adder(_ delivery: RunLoopClosure.Delivery, _ log: Log? = nil) throws -> RunLoopClosure {
    try RunLoopClosure(delivery, default: -1) { (number: Int32) -> Int32 in
      log?.add("\(number)")
      return number + 1
    }
  }

  private func call(_ closure: RunLoopClosure, _ number: Int32) throws -> Int32 {
    try closure.function.withPointer(as: Add.self) { $0(number) }
  }

  @Test("OBJ-8: C calls a body, where it is called: qsort with a comparator that has a context")
  func sorts() throws {
    var numbers: [Int32] = (0..<1000).map { ($0 * 7919) % 1000 }
    let compare = try RunLoopClosure { (left: UnsafeRawPointer?, right: UnsafeRawPointer?) -> Int32 in
      guard let left = left?.load(as: Int32.self), let right = right?.load(as: Int32.self) else { return 0 }
      return left < right ? 1 : left > right ? -1 : 0
    }
    #expect(compare.signature == "i^v^v")
    try compare.function.withPointer(as: Compare.self) { qsort(&numbers, numbers.count, MemoryLayout<Int32>.stride, $0) }
    #expect(numbers == (0..<1000).reversed())
    #expect(try compare.info.handled > 1000 && compare.info.failed == 0)
    // Retired: C still calls it, and all are equal.
    compare.invalidate()
    #expect(!compare.isValid)
    try compare.function.withPointer(as: Compare.self) { qsort(&numbers, 3, MemoryLayout<Int32>.stride, $0) }
    #expect(numbers.prefix(3) == [999, 998, 997])
    #expect(try compare.info.afterInvalidated > 0 && compare.info.state == .drained)
  }

  @Test("every type of value, many of them, and structs")
  func types() throws {
    let seen = Log()
    typealias Whole = @convention(c) (Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Int, UInt) -> Bool
    let whole = try RunLoopClosure {
      (a: Int8, b: UInt8, c: Int16, d: UInt16, e: Int32, f: UInt32, g: Int64, h: UInt64, i: Int, j: UInt) -> Bool in
      seen.add("\(a) \(b) \(c) \(d) \(e) \(f) \(g) \(h) \(i) \(j)")
      return true
    }
    #expect(whole.signature == "BcCsSiIqQqQ")
    #expect(try whole.function.withPointer(as: Whole.self) { $0(-1, 2, -3, 4, -5, 6, -7, 8, -9, .max) })
    #expect(seen.all == ["-1 2 -3 4 -5 6 -7 8 -9 18446744073709551615"])
    typealias Others = @convention(c) (Float, Double, Bool, UnsafePointer<CChar>?, OpaquePointer?) -> Double
    let others = try RunLoopClosure {
      (a: Float, b: Double, c: Bool, d: UnsafePointer<CChar>?, e: OpaquePointer?) -> Double in
      seen.add("\(c) \(d.map { String(cString: $0) } ?? "") \(e == nil)")
      return Double(a) + b
    }
    #expect(try others.function.withPointer(as: Others.self) { function in "text".withCString { function(1.5, 2.25, true, $0, nil) } } == 3.75)
    #expect(seen.all.last == "true text true")
    // Called by an invocation, since Swift has no functions of C with Swift's structs.
    let mirror = try RunLoopClosure(default: Point(x: 7, y: 7)) { (point: Point) in Point(x: point.y, y: point.x) }
    let call = try RunLoopInvocation(of: mirror.function, with: Point(x: 1, y: 2), returning: Point.self)
    #expect(try call.performAndWait() == Point(x: 2, y: 1))
    mirror.invalidate()
    #expect(try call.performAndWait() == Point(x: 7, y: 7))
    #expect(status { _ = try RunLoopClosure { (_: Lie) in } } == .signature)
    #expect(status { _ = try RunLoopClosure { () -> Lie in Lie() } } == .signature)
    #expect(status { _ = try RunLoopClosure(.carried(to: RunLoop.current(), limit: 0)) { () in } } == .range)
    #expect(status { _ = try RunLoopClosure(.carried(to: RunLoop.current(), whenFull: .coalesce)) { () in } } == .argument)
    #expect(status { _ = try RunLoopClosure(.carried(to: RunLoop.current(), in: [])) { () in } } == .argument)
  }

  @Test("THR-19 PERF-11: what a body throws goes to the last resort, and the caller gets the default result")
  func throwing() async throws {
    await #expect(processExitsWith: .success) {
      let log = Log()
      try RunLoopLastResort.setHandler { _, _, message in
        log.add(message)
        return true
      }
      let closure = try RunLoopClosure(default: 5) { (_: Int32) -> Int32 in throw Wrong() }
      demand(try closure.function.withPointer(as: Add.self) { $0(1) } == 5, "the default result")
      demand(log.all == ["Wrong()"], "the last resort got \(log.all)")
      demand(try closure.info.failed == 1, "counted")
      closure.invalidate()
      _ = try closure.function.withPointer(as: Add.self) { $0(1) }
      demand(log.all.count == 2, "the first call of a retired one is reported: \(log.all)")
    }
  }

  @Test("PERF-2 PERF-3 PERF-7: calls are carried to a loop and bring the result, on its own thread directly")
  func carried() throws {
    try withLoopThread { thread in
      let loop = try thread.loop
      let closure = try RunLoopClosure(.carried(to: loop)) { (number: Int32) -> Int32 in loop.isCurrent ? number + 1 : 0 }
      #expect(try closure.function.withPointer(as: Add.self) { $0(1) } == 2)
      try thread.perform(waitUntilDone: true) {
        let direct = try closure.function.withPointer(as: Add.self) { $0(2) }
        #expect(direct == 3)
      }
      // The other way as well, while the caller waits: its loop runs.
      let own = try RunLoop.current()
      let back = try RunLoopClosure(.carried(to: own)) { (number: Int32) -> Int32 in own.isCurrent ? number * 2 : 0 }
      let forth = try RunLoopClosure(.carried(to: loop, wait: .running)) { (number: Int32) -> Int32 in
        try back.function.withPointer(as: Add.self) { $0(number) }
      }
      #expect(try forth.function.withPointer(as: Add.self) { $0(21) } == 42)
    }
  }

  @Test("PERF-4: who does not wait gets the default result at once, and the calls come in their order")
  func notAwaited() throws {
    let log = Log(), done = Signal()
    try withLoopThread { thread in
      let closure = try RunLoopClosure(.carried(to: thread.loop, wait: .none), default: -1) { (number: Int32) -> Int32 in
        log.add("\(number)")
        if number == 99 { done.signal() }
        return number
      }
      for number in 0..<100 { #expect(try call(closure, Int32(number)) == -1) }
      try done.wait()
    }
    #expect(log.all == (0..<100).map { "\($0)" })
  }

  @Test("PERF-9: a loop that ends, and one that has ended: the default result")
  func endOfLoop() async throws {
    try await watched {
      let idle = try IdleThread()
      let closure = try adder(.carried(to: idle.loop))
      async let waiting = elsewhere { try closure.function.withPointer(as: Add.self) { $0(1) } }
      while try closure.info.waiting == 0 { await Task.yield() }
      try await idle.end()
      #expect(try await waiting == -1)
      #expect(try call(closure, 1) == -1)
      #expect(try closure.info.dropped > 0)
      #expect(status { _ = try adder(.carried(to: idle.loop)) } == .closed)
    }
  }

  @Test("a caller's patience, and a queue that is full")
  func limits() throws {
    let idle = try RunLoopThread {}, log = Log()
    let loop = try idle.loop
    let hasty = try adder(.carried(to: loop, timeout: .zero), log)
    #expect(try call(hasty, 1) == -1)
    #expect(try hasty.info.timedOut == 1)
    let newest = try adder(.carried(to: loop, wait: .none, limit: 2, whenFull: .dropNewest), log)
    for number in 10..<15 { _ = try call(newest, Int32(number)) }
    let oldest = try adder(.carried(to: loop, wait: .none, limit: 2, whenFull: .dropOldest), log)
    for number in 20..<25 { _ = try call(oldest, Int32(number)) }
    let latest = try adder(.carried(to: loop, wait: .none, limit: 1, whenFull: .coalesce), log)
    for number in 30..<35 { _ = try call(latest, Int32(number)) }
    #expect(try [newest, oldest, latest].map { try $0.info.dropped } == [3, 3, 4])
    #expect(try newest.info.waiting == 2)
    try idle.start()
    try idle.join(timeout: patience)
    #expect(log.all == [], "the thread has run no loop")
  }

  @Test("OBJ-4: the body is released when the closure is over, with the object or by close")
  func released() throws {
    let gone = Signal()
    func make() throws -> RunLoopClosure {
      let tracked = Tracked(gone)
      return try RunLoopClosure { () in tracked.use() }
    }
    var closure: RunLoopClosure? = try make()
    let function = closure?.function
    closure = nil
    #expect(!gone.isSignalled, "the function keeps it")
    try withExtendedLifetime(function) {
      let second = try make()
      try second.close(timeout: patience)
      try gone.wait()
    }
    func forget() throws { _ = try make() }
    try forget()
    try gone.wait()
    // Refused: released as well.
    let tracked = Tracked(gone)
    #expect(status { _ = try RunLoopClosure { (_: Lie) in tracked.use() } } == .signature)
  }

  @Test("SCOPE-2: a closure ends with its scope, and C goes on calling it")
  func scopes() throws {
    let scope = try RunLoopScope()
    let inside = try scope.enter { try adder(.inline) }
    let named = try RunLoopClosure(default: 3, scope: scope) { (number: Int32) -> Int32 in number }
    #expect(try call(inside, 1) == 2 && call(named, 1) == 1)
    #expect(scope.holders.contains { $0.kind == "closure" })
    try scope.close(timeout: patience)
    #expect(!inside.isValid && !named.isValid)
    #expect(try call(inside, 1) == -1 && call(named, 1) == 3)
    #expect(status { _ = try RunLoopClosure(scope: scope) { () in } } == .closed)
    #expect("\(inside)".contains("“ii”"))
  }

  @Test("functions are looked up, compared, and refused")
  func functions() throws {
    let labs = try RunLoopFunction(named: "labs")
    let typed = try labs.pointer(as: (@convention(c) (Int) -> Int).self)
    #expect(try labs == RunLoopFunction(named: "labs"))
    #expect(typed(-3) == 3)
    #expect(status { _ = try RunLoopFunction(named: "no such function") } == .notFound)
    #expect(status { _ = try RunLoopFunction(named: "labs\0") } == .notFound)
    #expect(status { _ = try RunLoopFunction({ 1 }) } == .argument)
    #expect(status { _ = try RunLoopFunction(UnsafeRawPointer?.none) } == .argument)
    #expect(status { _ = try labs.pointer(as: Int32.self) } == .argument)
  }
}
