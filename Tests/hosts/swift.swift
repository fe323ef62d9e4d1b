// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The list of host tests, in Swift.
import Glibc
import Synchronization
import Treadle

func timers() throws {
  let loop = try RunLoop.current()
  let now = RunLoopInstant.now
  for (delay, word) in [(3, "c"), (1, "a"), (3, "d"), (2, "b")] {
    try RunLoopTimer(at: now.advanced(by: .milliseconds(delay))) { _ in told.note(word) }.start()
  }
  let dates = Mutex<[Int64]>([])
  try RunLoopTimer(at: now.advanced(by: .milliseconds(1)), repeating: .milliseconds(1)) { timer in
    let date = timer.nextFire?.nanoseconds ?? 0
    require(RunLoopInstant.now.nanoseconds >= date)
    dates.withLock {
      $0.append(date - now.nanoseconds)
      if $0.count == 10 { timer.invalidate() }
    }
  }.start()
  require(try loop.run() == .finished)
  require(told.words == "abcd", told.words)
  dates.withLock { all in
    require(all.count == 10 && all.allSatisfy { $0 % 1_000_000 == 0 } && all == Array(Set(all)).sorted(), "\(all)")
  }
}

func source() throws {
  let loop = try RunLoop.current()
  func make(_ word: String, _ order: Int64) throws -> RunLoopSource {
    let source = try RunLoopSource(
      order: order, schedule: { _, _ in told.note("+") }, cancel: { _, _ in told.note("-") }, perform: { _ in told.note(word) })
    require(try loop.add(source))
    return source
  }
  let all = [try make("a", 1), try make("b", 0), try make("c", 0)]
  require(try loop.add(all[0], to: "other") && !loop.add(all[0], to: "other"))
  for index in [0, 0, 2, 1] { all[index].signal() }
  for _ in 0..<2 { try loop.run(for: .zero) }
  for source in all { source.invalidate() }
  require(told.words == "++++cba----", told.words)
}

func observer() throws {
  let names: [RunLoopActivity: String] = [
    .entry: "E", .beforeTimers: "t", .beforeSources: "s", .beforeWaiting: "w", .afterWaiting: "a", .exit: "X",
  ]
  let timer = try RunLoopTimer(after: .seconds(100)) { _ in told.note("!") }.start()
  try RunLoopObserver { _, activity in
    told.note(names[activity] ?? "?")
    if activity == .beforeWaiting { timer.nextFire = .now }  // not before, or the first pass could fire it
  }.start()
  require(try RunLoop.current().run() == .finished)
  require(told.words == "Etswa!X", told.words)
}

func nested() throws {
  let loop = try RunLoop.current()
  require(try loop.add(RunLoopTimer(after: .milliseconds(5)) { _ in told.note("n") }, to: "other"))
  try RunLoopTimer(after: .zero) { _ in
    told.note("(")
    require(try loop.run(in: "other") == .finished)
    told.note(")")
  }.start()
  try RunLoopTimer(after: .milliseconds(1)) { _ in told.note("o") }.start()
  require(try loop.run() == .finished)
  require(told.words == "(n)o", told.words)
}

func stopInside() throws {
  let loop = try RunLoop.current()
  try RunLoopTimer(after: .zero) { _ in
    require(try loop.add(RunLoopTimer(after: .zero) { _ in loop.stop() }, to: "inner"))
    require(try loop.run(in: "inner", whenEmpty: true) == .stopped)
    told.note("inner")
  }.start()
  require(try loop.run() == .finished && told.words == "inner")
  try RunLoopTimer(after: .zero) { _ in loop.stop() }.start()
  require(try loop.run(whenEmpty: true) == .stopped)
}

func stopOutside() throws {
  let loop = try RunLoop.current()
  let thread = try RunLoopThread {
    while !loop.isWaiting { sched_yield() }
    loop.stop()
  }
  try thread.start()
  require(try loop.run(whenEmpty: true) == .stopped)
  try thread.join()
  loop.requestStop()
  require(try loop.run(whenEmpty: true) == .stopped)
}

func perform() throws {
  let threads = 8, each = 12500
  let loop = try RunLoop.current()
  let next = Mutex([Int](repeating: 0, count: threads))
  let all = try (0..<threads).map { number in
    try RunLoopThread {
      for i in 0..<each {
        try loop.post {
          next.withLock {
            require(loop.isCurrent && $0[number] == i, "order")
            $0[number] += 1
          }
          if told.count() == threads * each { loop.stop() }
        }
      }
    }
  }
  for thread in all { try thread.start() }
  require(try loop.run(whenEmpty: true) == .stopped)
  for thread in all { try thread.join() }
  require(told.counted == threads * each)
}

func waitValue() throws {
  let worker = try RunLoopThread.startWorker()
  let value = Mutex(0)
  try worker.perform(waitUntilDone: true) { value.withLock { $0 = worker.isCurrent ? 42 : 0 } }
  require(value.withLock { $0 } == 42)
  try worker.stopAndJoin()
}

struct Refused: Error {}
func waitError() throws {
  let worker = try RunLoopThread.startWorker()
  do {
    try worker.perform(waitUntilDone: true) { throw Refused() }
    require(false, "nothing was thrown")
  } catch is Refused {}
  try worker.stopAndJoin()
}

/// Nobody caught it: the last resort is told, and the loop goes on.
func errors() throws {
  let loop = try RunLoop.current()
  try RunLoopLastResort.setHandler { _, _, message in
    told.note(message)
    return true
  }
  try loop.post { throw Refused() }
  try loop.post { told.note(", and on") }
  require(try loop.run(for: .zero, whenEmpty: true) == .timedOut)
  require(told.words == "Refused(), and on", told.words)
}

func interrupt() throws {
  let loop = try RunLoop.current()
  let signals = try loop.posixSignals(SIGINT)
  Task {
    for await signal in signals {
      require(signal.number == SIGINT)
      loop.requestStop()
      break
    }
  }
  kill(getpid(), SIGINT)
  require(try loop.run(whenEmpty: true) == .stopped)
}

func leaveBusy() throws {
  let worker = try RunLoopThread.startWorker()
  try worker.loop.post { try RunLoopTimer(after: .zero, repeating: .microseconds(1)) { _ in _ = told.count() }.start() }
  while told.counted < 10 { sched_yield() }
}
func endings() throws {
  for _ in 0..<20 {
    var child: pid_t = 0
    var status: Int32 = -1
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(CommandLine.arguments[0]), strdup("-leave-busy"), nil]
    require(posix_spawn(&child, CommandLine.arguments[0], nil, nil, &arguments, environ) == 0)
    require(waitpid(child, &status, 0) == child && status == 0, "ended with \(status)")
  }
}

func resident() -> Int {
  let file = fopen("/proc/self/statm", "r")!
  defer { fclose(file) }
  var text = [CChar](repeating: 0, count: 100)
  fgets(&text, 100, file)
  return Int(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")[1]) ?? 0
}
func descriptors() -> Int32 {
  let next = dup(0)
  close(next)
  return next
}
func growth() throws {
  let loop = try RunLoop.current()
  func makeAndDrop(_ count: Int) throws {
    for _ in 0..<count {
      let items: [RunLoopItem] = [try RunLoopSource { _ in }, try RunLoopTimer(after: .seconds(3600)) { _ in }]
      for item in items {
        require(try loop.add(item))
        item.invalidate()
      }
    }
  }
  try makeAndDrop(10000)
  let pages = resident(), next = descriptors()
  try makeAndDrop(50000)
  require(resident() - pages < 256 && descriptors() == next, "\(resident() - pages) pages")
}

func polls() throws {
  let loop = try RunLoop.current()
  var entry = pollfd(fd: try loop.openPollable(), events: Int16(POLLIN), revents: 0)
  try RunLoopTimer(after: .milliseconds(5)) { _ in _ = told.count() }.start()
  let thread = try RunLoopThread { try loop.post { _ = told.count() } }
  try thread.start()
  while told.counted < 2 {
    require(poll(&entry, 1, 60000) == 1)
    try loop.run(for: .zero, whenEmpty: true)
  }
  try thread.join()
  close(entry.fd)
}

func stale() throws {
  let loop = try RunLoop.current()
  let scope = try RunLoopScope()
  let timer = try scope.enter { try RunLoopTimer(after: .zero) { _ in told.note("t") }.start() }
  try scope.close()
  let source = try RunLoopSource { _ in told.note("s") }
  source.invalidate()
  require(!timer.isValid && !timer.arm(after: .zero) && !source.signal() && !source.isValid)
  do {
    try scope.enter {}
    require(false, "a closed scope was entered")
  } catch let error as TreadleError {
    require(error.code == .closed, "\(error)")
  }
  require(try !loop.add(source) && loop.run() == .finished && told.words == "")
}

let cases: [String: () throws -> Void] = [
  "timers": timers, "source": source, "observer": observer, "nested": nested, "stop-inside": stopInside, "stop-outside": stopOutside,
  "perform": perform, "wait-value": waitValue, "wait-error": waitError, "errors": errors, "interrupt": interrupt, "exit": endings,
  "growth": growth, "poll": polls, "stale": stale, "-leave-busy": leaveBusy,
]
for argument in CommandLine.arguments.dropFirst() {
  name = argument
  mode = RunLoopMode(name)
  if name == "fork" {
    print("fork: not applicable (Swift refuses to compile fork)")
    continue
  }
  guard let run = cases[name] ?? itemCases[name] ?? threadCases[name] else { exit(2) }
  do {
    try run()
  } catch {
    require(false, "\(error)")
  }
  for end in ends.reversed() { end() }
  ends = []
  told.clear()
  if name != "-leave-busy" { print("\(name): pass") }
}
