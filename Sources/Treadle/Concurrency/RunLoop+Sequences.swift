// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// Items of a loop as sequences.
extension RunLoop {
  /// Watches a descriptor, which is never read (SRC1-2), and only while a task waits for the next element: a slow task
  /// costs the loop nothing, and a task that does not drain the descriptor gets the next element at once. Use a
  /// non-blocking descriptor. A mode has one source for a descriptor (SRC1-7): to wait for data and for room in
  /// different tasks, give the second sequence a duplicate of the descriptor (`dup`). Any thread.
  /// - Parameters:
  ///   - descriptor: stays the client's to close, after the iteration has ended.
  ///   - readiness: `.readable`, `.writable` or both.
  ///   - mode: where it is watched.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: what it belongs to; nil: the scope that the thread has entered.
  /// - Returns: what was seen, each time.
  /// - Throws: `TreadleError` as `RunLoopDescriptor`'s initialiser and `add`; of the code `.closed` when the loop's
  ///   thread is gone. Since 1.0.
  public func readiness(
    of descriptor: Int32, for readiness: RunLoopReadiness = .readable, in mode: RunLoopMode = .common,
    label: String? = nil,
    scope: RunLoopScope? = nil
  ) throws(TreadleError) -> RunLoopSequence<RunLoopReadiness> {
    let streamed = StreamedItem(readiness: readiness)
    let (stream, end) = StreamEnd<RunLoopReadiness>.makeStream(of: streamed)
    let ready: @Sendable (RunLoopDescriptor, RunLoopReadiness) -> Void = { _, seen in
      streamed.pause()
      end.yield(seen)
    }
    try streamed.start(
      RunLoopDescriptor(descriptor, for: readiness, label: label, scope: scope, ready: ready), on: self, in: mode)
    return RunLoopSequence(stream, of: streamed)
  }

  /// Ticks of a timer of this loop, on an exact grid. Each element is the date that was served; those that a slow
  /// consumer has missed are dropped, but for the newest, and the grid does not drift (TMR-16). Any thread.
  /// - Parameters:
  ///   - delay: from now to the first tick; nil: one interval, or at once without an interval.
  ///   - interval: from each tick to the next, at least a microsecond; nil for a single tick, after which the iteration
  ///     ends.
  ///   - tolerance: how late they may come so that wake-ups are shared (TMR-5).
  ///   - mode: where the timer is.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: what it belongs to; nil: the scope that the thread has entered.
  /// - Throws: `TreadleError` as `RunLoopTimer`'s initialiser; of the code `.closed` when the loop's thread is gone.
  ///   Since 1.0.
  public func ticks(
    after delay: Duration? = nil, every interval: Duration? = nil, tolerance: Duration = .zero,
    in mode: RunLoopMode = .common,
    label: String? = nil, scope: RunLoopScope? = nil
  ) throws(TreadleError) -> RunLoopSequence<RunLoopInstant> {
    let streamed = StreamedItem()
    let (stream, end) = StreamEnd<RunLoopInstant>.makeStream(of: streamed)
    let fire: RunLoopTimer.Fire = { timer in end.yield(timer.nextFire ?? RunLoopInstant.now) }
    try streamed.start(
      RunLoopTimer(
        after: delay ?? interval ?? .zero, repeating: interval, tolerance: tolerance, label: label, scope: scope,
        endsAfterFiring: true, fire: fire), on: self, in: mode)
    return RunLoopSequence(stream, of: streamed)
  }

  /// Signals from any thread, performed by this loop in the order of its sources, and received by a task: several that
  /// come before a pass are one, and so are those that a slow consumer has missed (SRC0-6). Any thread.
  /// - Parameters:
  ///   - order: smaller is performed first.
  ///   - mode: where the source is.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: what it belongs to; nil: the scope that the thread has entered.
  /// - Throws: `TreadleError` as `RunLoopSource`'s initialiser; of the code `.closed` when the loop's thread is gone.
  ///   Since 1.0.
  public func signals(
    order: Int64 = 0, in mode: RunLoopMode = .common, label: String? = nil, scope: RunLoopScope? = nil
  ) throws(TreadleError) -> RunLoopSignals {
    let streamed = StreamedItem()
    let (stream, end) = StreamEnd<Void>.makeStream(of: streamed)
    try streamed.start(
      RunLoopSource(order: order, label: label, scope: scope) { _ in end.yield(()) }, on: self, in: mode)
    return RunLoopSignals(received: RunLoopSequence(stream, of: streamed), streamed)
  }
}

/// A source that tasks wait for: `signal` from any thread, `for await _ in signals.received`. Since 1.0.
public struct RunLoopSignals: Sendable {
  /// An element for each signal that the loop has performed. Since 1.0.
  public let received: RunLoopSequence<Void>
  private let item: StreamedItem

  fileprivate init(received: RunLoopSequence<Void>, _ item: StreamedItem) {
    self.received = received
    self.item = item
  }

  /// Marks the source, and wakes the loop (SRC0-6). Any thread.
  /// - Returns: false when it has ended, or when out of memory. Since 1.0.
  @discardableResult
  public func signal() -> Bool {
    guard let handle = item.handle, item.isValid else { return false }
    return treadle_source_signal_and_wake(handle) == TREADLE_OK
  }
}

extension RunLoopSignals: CustomStringConvertible {
  /// The source, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopSignals(\(item.description))" }
}
