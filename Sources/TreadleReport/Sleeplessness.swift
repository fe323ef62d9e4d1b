// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

// A loop that sleeps though it has something to do, and one that does not sleep for what it gives itself to do.

/// A signal that has not woken the loop whose sleep it found: the source, 0 for none, by which thread, when, and how
/// many sleeps there were. Or a post: with the loop in place of the source. It is told of if the same sleep goes on for
/// a while; the thread may be about to wake the loop.
struct QuietSignal: BitwiseCopyable {
  var source: UInt = 0
  var thread: Int32 = 0
  var since: Int64 = 0
  var sleeps: UInt64 = 0

  static let patience: Int64 = 200_000_000
}

/// The passes of a loop since its last sleep, or since other threads or the kernel have given it something to do; and
/// what it called last.
struct PassRecord: BitwiseCopyable {
  private var first: UInt64 = 0
  private var sleeps: UInt64 = 0
  private var given: UInt64 = 0
  private(set) var called: UInt = 0
  private(set) var kind: UInt32 = 0
  private(set) var code: UInt = 0

  static let many: UInt64 = 20_000

  mutating func note(called: UInt, kind: UInt32, code: UInt) {
    if kind == Event.Kind.observer { return }
    (self.called, self.kind, self.code) = (called, kind, code)
  }

  /// A pass begins. True if it is one of many.
  mutating func begin(_ number: UInt64, sleeps: UInt64, given: UInt64, isCalled: Bool) -> Bool {
    if isCalled || sleeps != self.sleeps || given != self.given {
      (first, self.sleeps, self.given) = (number, sleeps, given)
      (called, kind, code) = (0, 0, 0)
    }
    if number &- first < PassRecord.many || kind == 0 { return false }
    first = number
    return true
  }
}

extension Log {
  /// A signal has found the loop asleep, and has not woken it.
  static func noteSignal(_ loop: Loop, _ source: UInt) {
    let sleeps = loop.counters.pointee.sleeps.load(ordering: .relaxed)
    let signal = QuietSignal(source: source, thread: Runtime.threadID, since: Clock.now(), sleeps: sleeps)
    withCalls { calls in
      calls.withRecord(of: loop.handle.bits) {
        if $0.quiet.source == 0 || $0.quiet.sleeps != sleeps { $0.quiet = signal }
      }
    }
  }

  /// Tells of such a signal if it is old. When to look again; nil if there is none, or its loop has woken.
  static func lookForQuietSignal(_ loop: Loop, _ now: Int64) -> Int64? {
    guard let signal = withCalls({ $0.record(of: loop.handle.bits) })?.quiet, signal.source != 0 else { return nil }
    let isAsleep = loop.isAsleep && loop.counters.pointee.sleeps.load(ordering: .relaxed) == signal.sleeps
    let due = Clock.after(QuietSignal.patience, from: signal.since)
    if isAsleep && due > now { return due }
    withCalls { calls in
      calls.withRecord(of: loop.handle.bits) { if $0.quiet.since == signal.since { $0.quiet = QuietSignal() } }
    }
    if isAsleep && signal.source == loop.handle.bits {
      tellQuietPost(loop, signal)
    } else if isAsleep, let source = try? Item.hold(.source, signal.source, "source") {
      if source.isSignalled, isIn(source, loop) { tellQuietSignal(source, loop, signal) }
      source.letGo()
    }
    return nil
  }

  /// Whether the source is in the mode in which the loop sleeps.
  private static func isIn(_ source: Item, _ loop: Loop) -> Bool {
    guard let mode = loop.currentMode else { return false }
    source.lock()
    defer { source.unlock() }
    return source.member(of: mode) != nil
  }

  /// A run that may sleep begins a pass.
  static func notePass(_ loop: Loop, isCalled: Bool) {
    let counters = loop.counters
    let given =
      counters.pointee.descriptors.load(ordering: .relaxed) &+ counters.pointee.messages.load(ordering: .relaxed)
    let (number, sleeps) = (
      counters.pointee.passes.load(ordering: .relaxed), counters.pointee.sleeps.load(ordering: .relaxed)
    )
    let last = withCalls { calls in
      calls.withRecord(of: loop.handle.bits) { record in
        record.passes.begin(number, sleeps: sleeps, given: given, isCalled: isCalled) ? record.passes : nil
      }
    }
    if let last = last.flatMap({ $0 }) { tellSleepless(loop, last) }
  }
}

/// Told by the core: a signal of a source, or a post, found its loop asleep, and has not woken it.
@_cdecl("libtreadle_note_signal")
public func noteSignal(_ loop: UnsafeMutableRawPointer?, _ source: UInt64) {
  guard let loop else { return }
  Log.noteSignal(Loop(loop), UInt(source))
  Watchdog.ensure()
}

/// Told by the core: a run that may sleep begins a pass.
@_cdecl("libtreadle_note_pass")
public func notePass(_ loop: UnsafeMutableRawPointer?, _ isCalled: Bool) {
  guard let loop else { return }
  Log.notePass(Loop(loop), isCalled: isCalled)
}
