// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleCore
package import TreadleBase

/// The messages: each once for the place that it is about.
extension Log {
  /// What a place's number is made of besides the place.
  private enum Kind {
    static let refusal: UInt64 = 1 << 60
    static let emptyMode: UInt64 = 2 << 60
    static let closed: UInt64 = 3 << 60
    static let goneLoop: UInt64 = 4 << 60
    static let slow: UInt64 = 5 << 60
    static let spin: UInt64 = 9 << 60
    static let stuck: UInt64 = 6 << 60
    static let noWatchdog: UInt64 = 7 << 60
    static let unused: UInt64 = 8 << 60
    static let quiet: UInt64 = 10 << 60
    static let sleepless: UInt64 = 11 << 60
  }

  /// A call was refused, and the thread's last error is about it. A wait that took too long was not.
  package static func tellRefusal(_ failure: Failure, in function: StaticString, _ status: StaticString) {
    if failure.status == Status.timeout || !isFirst(UInt64(UInt(bitPattern: function.utf8Start)) ^ Kind.refusal) {
      return
    }
    write { text in
      text.append(function)
      text.append(" gave ")
      text.append(status)
      text.append(": ")
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { room in
        let message = UnsafeMutableRawBufferPointer(room)
        LastError.write(function: UnsafeMutableRawBufferPointer(start: nil, count: 0), message: message)
        if let base = message.baseAddress { text.append(UnsafePointer(base.assumingMemoryBound(to: CChar.self))) }
      }
      if failure.osError != 0 {
        text.append(", errno ")
        text.append(Int64(failure.osError))
      }
    }
  }

  /// A run of the calling thread's loop has finished at once.
  fileprivate static func tellFinish(_ loop: Loop, isUnknown: Bool, _ name: UnsafePointer<CChar>?) {
    let hash = name.map { UInt64(ModeName($0).hash) } ?? 0
    if !isFirst((UInt64(loop.handle.bits) &* 31 &+ hash) ^ Kind.emptyMode) { return }
    write { text in
      text.append("a run of the loop of thread ")
      text.append(Int64(loop.threadID))
      text.append(" in mode ")
      if let name { text.append(quoted: name) } else { text.append("NULL") }
      text.append(
        (isUnknown ? " finished at once: there is no such mode" : " finished at once: the mode is empty")
          as StaticString)
      var isAny = false
      loop.forEachMode { mode in
        guard mode.hasContent, let known = mode.name else { return }
        text.append((isAny ? ", " : "; not empty: ") as StaticString)
        text.append(quoted: known)
        isAny = true
      }
      if !isAny { text.append("; all modes are empty") }
    }
  }

  /// An addition had no effect.
  package static func tellGone(_ loop: Loop, _ item: Item) {
    if loop.isAlive || !isFirst(UInt64(loop.handle.bits) ^ Kind.goneLoop) { return }
    write { text in
      text.append("the loop's thread has ended, and an added item is never called: ")
      item.reportLine(&text, in: nil)
    }
  }

  /// The last reference to an item is gone.
  fileprivate static func tellUnused(_ item: Item) {
    if !isFirst(UInt64(item.handle.bits) ^ Kind.unused) { return }
    write { text in
      text.append("an item was released that was never added to a loop, so it was never called: ")
      item.reportLine(&text, in: nil)
    }
  }

  /// A source is about to be told that its descriptor has failed.
  fileprivate static func tellClosed(_ loop: Loop, _ item: Item) {
    guard let mode = loop.currentMode, isClosed(item, mode), isFirst(UInt64(item.handle.bits) ^ Kind.closed) else {
      return
    }
    write { text in
      text.append("a descriptor was closed while it was watched: ")
      item.reportLine(&text, in: mode)
    }
  }

  private static func isClosed(_ item: Item, _ mode: Mode) -> Bool {
    item.lock()
    defer { item.unlock() }
    guard let member = item.member(of: mode) else { return false }
    return item.withLoopLocked(member) { $0.map { !$0.demandStanding(member) } ?? false }
  }

  /// A descriptor is as ready behind its callback as it was before, again and again.
  static func tellSpin(_ item: Item, _ mode: Mode, _ left: treadle_system_left) {
    if !isFirst(UInt64(item.handle.bits) ^ Kind.spin) { return }
    write { text in
      text.append("a descriptor is not drained, and keeps its loop from sleeping: ")
      text.append(DrainRecord.manyCalls)
      text.append(" calls of its callback have left it ready")
      if left.events == Readiness.writable {
        text.append(", to be written to (watch for that only while there is something to write)")
      } else if left.bytes > 0 {
        text.append(" with ")
        text.append(Int64(left.bytes))
        text.append(" bytes to read")
      } else {
        text.append(" (at the end of what comes, stop watching it)")
      }
      text.append(": ")
      item.reportLine(&text, in: mode)
    }
  }

  fileprivate static func tellSlow(_ loop: Loop, _ item: Item?, _ code: UInt, _ duration: Int64) {
    let place = item?.handle.bits ?? code
    if !isFirst(UInt64(place != 0 ? place : loop.handle.bits) ^ Kind.slow) { return }
    write { text in
      text.append("a callback took ")
      text.append(nanoseconds: duration)
      text.append(": ")
      if let item { return item.reportLine(&text, in: nil) }
      text.append((code != 0 ? "the block of function " : "a request or block") as StaticString)
      if code != 0 { text.append(handle: Handle(bits: code)) }
      text.append(" on the loop of thread ")
      text.append(Int64(loop.threadID))
    }
  }
}

/// What the watchdog tells.
extension Log {
  static func isFirstStuck(_ loop: Loop, _ call: RunningCall) -> Bool {
    isFirst(UInt64(call.item?.handle.bits ?? call.name.bits) ^ Kind.stuck)
  }

  /// A callback runs and runs. Before its thread is asked for its stack, which may take a second. Without the names of
  /// functions: for these the loader has a lock, which the callback may have.
  static func tellStuck(_ loop: Loop, _ call: RunningCall, since: Int64) {
    write { text in
      text.append("a callback has not returned for ")
      text.append(nanoseconds: max(Clock.now() &- since, 0))
      text.append(": ")
      if let item = call.item { item.reportName(&text) } else { text.append(call.name, isNamed: false) }
      text.append(" on the loop of thread ")
      text.append(thread: loop.threadID, of: loop)
    }
  }

  /// A frame, or several in a row that have no names.
  static func tellFrame(_ thread: Int32, _ index: Int, to last: Int, _ address: UInt) {
    write { text in
      text.append("thread ")
      text.append(Int64(thread))
      text.append(" #")
      text.append(Int64(index))
      if last > index {
        text.append(" to #")
        text.append(Int64(last))
        text.append(" in ")
        return text.append(fileOf: address)
      }
      text.append(" ")
      text.append(function: address)
    }
  }

  static func tellNoStack(_ thread: Int32) {
    write { text in
      text.append("thread ")
      text.append(Int64(thread))
      text.append(" does not tell its stack: it takes no signals")
    }
  }

  /// A signal, and a sleep that goes on.
  static func tellQuietSignal(_ source: Item, _ loop: Loop, _ signal: QuietSignal) {
    if !isFirst(UInt64(signal.source) ^ Kind.quiet) { return }
    write { text in
      source.reportName(&text)
      text.append(" was signalled by thread ")
      text.append(thread: signal.thread, of: nil)
      text.append(" while its loop sleeps, and nothing has woken it for ")
      text.append(nanoseconds: max(Clock.now() &- signal.since, 0))
      text.append(" (treadle_source_signal_and_wake does): the loop of thread ")
      text.append(thread: loop.threadID, of: loop)
    }
  }

  /// A post, and a sleep that goes on.
  static func tellQuietPost(_ loop: Loop, _ signal: QuietSignal) {
    if !isFirst(UInt64(signal.source) ^ Kind.quiet) { return }
    write { text in
      text.append("a function was posted by thread ")
      text.append(thread: signal.thread, of: nil)
      text.append(" while its loop sleeps, and nothing has woken it for ")
      text.append(nanoseconds: max(Clock.now() &- signal.since, 0))
      text.append(" (treadle_loop_wake does): the loop of thread ")
      text.append(thread: loop.threadID, of: loop)
    }
  }

  /// A loop that does not sleep for what it gives itself to do.
  static func tellSleepless(_ loop: Loop, _ last: PassRecord) {
    if !isFirst(UInt64(loop.handle.bits) ^ Kind.sleepless) { return }
    write { text in
      text.append("the loop of thread ")
      text.append(thread: loop.threadID, of: loop)
      text.append(" has not slept for ")
      text.append(Int64(PassRecord.many))
      text.append(" passes, kept awake by ")
      let handle = Handle(bits: last.called)
      if let kind = handle.kind, let item = try? Item.hold(kind, handle.bits, "item") {
        item.reportName(&text)
        item.letGo()
      } else {
        text.append((last.kind == Event.Kind.block ? "a post" : "a request") as StaticString)
        if last.code != 0 {
          text.append(" of function ")
          text.append(function: last.code)
        }
      }
      text.append(", which the thread itself has given it")
    }
  }

  static func tellNoTrace(_ number: Int32) {
    if !Watch.isTelling { return }
    write { text in
      text.append("the trace could not be written, errno ")
      text.append(Int64(number))
    }
  }

  static func tellNoWatchdog(_ result: Int32) {
    if !isFirst(Kind.noWatchdog) { return }
    write { text in
      text.append("there is no watchdog: the system refuses a thread, errno ")
      text.append(Int64(0 &- result))
    }
  }
}

/// Told by the core of each callout, before it when `duration` is negative; and with no kind of a run that has finished
/// at once, why in place of the tag, and in which mode. On the loop's thread, which keeps the item. Without a loop, on
/// any thread: of an item that is destroyed unused.
@_cdecl("libtreadle_tell")
public func reportCallout(
  _ loop: UnsafeMutableRawPointer?, _ kind: UInt32, _ tag: UInt32, _ code: UnsafeRawPointer?, _ duration: Int64
) {
  guard let memory = loop else {
    if let item = Item(tag: tag) { Log.tellUnused(item) }
    return
  }
  let loop = Loop(memory)
  if kind == 0 {
    let name = code?.assumingMemoryBound(to: CChar.self)
    return Log.tellFinish(loop, isUnknown: tag == LoopCounters.Finish.unknownMode, name)
  }
  let item = Item(tag: tag)
  if duration < 0 {
    if let item, Watch.isTelling { Log.tellClosed(loop, item) }
    return
  }
  let handle = item?.handle.bits ?? 0
  Log.withCalls { calls in
    if handle != 0 { calls.add(handle, duration, called: handle, kind: kind) }
    calls.add(loop.handle.bits, duration, called: handle, kind: kind, code: UInt(bitPattern: code))
  }
  if kind == Event.Kind.descriptor, let item, Watch.isTelling { Log.lookForSpin(loop, item) }
  if duration > treadle_system_slow_limit() { Log.tellSlow(loop, item, UInt(bitPattern: code), duration) }
}

/// The longest callback of a loop that was timed.
extension Loop {
  package var longestCall: (duration: Int64, item: UInt, kind: UInt32) {
    if !Watch.isTiming { return (0, 0, 0) }
    let record = Log.withCalls { $0.record(of: handle.bits) }
    return (record?.longest ?? 0, record?.called ?? 0, record?.kind ?? 0)
  }
}
