// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

extension RunLoop: CustomStringConvertible {
  /// The loop's thread and what that does, then its modes with a line for each of their items, for debugging (RL-12).
  /// Any thread. Since 1.0.
  public var description: String {
    text { treadle_describe(UnsafeMutableRawPointer(handle), $0, $1, $2) } ?? "a loop that is gone"
  }

  /// The items of a mode, of the common modes those recorded there, and with nil those of all modes, each once: sources
  /// first, then descriptor sources, ports, timers and observers. Returns further references to them. For debugging:
  /// it looks at all items of the process. Any thread.
  /// - Throws: `TreadleError` when out of memory. Since 1.0.
  public func items(in mode: RunLoopMode? = nil) throws(TreadleError) -> [RunLoopItem] {
    var room = 16
    while true {
      var count = 0
      var status: treadle_status = 0
      let found = [UnsafeMutableRawPointer?](unsafeUninitializedCapacity: room) { buffer, filled in
        status = withText(mode?.name) { treadle_loop_copy_items(handle, $0, buffer.baseAddress, room, &count) }
        filled = status < 0 ? 0 : min(count, room)
      }
      try check(status)
      let items = found.compactMap { $0.map { RunLoop.item(owning: $0) } }
      if count <= room { return items }
      room = count
    }
  }

  /// An item of the class of its kind, which takes the reference over.
  private static func item(owning object: UnsafeMutableRawPointer) -> RunLoopItem {
    var kind: UInt32 = 0
    _ = treadle_get_kind(object, &kind)
    let handle = OpaquePointer(object)
    return switch Int(kind) {
    case TREADLE_KIND_SOURCE: RunLoopSource(owning: handle)
    case TREADLE_KIND_TIMER: RunLoopTimer(owning: handle)
    case TREADLE_KIND_OBSERVER: RunLoopObserver(owning: handle)
    case TREADLE_KIND_DESCRIPTOR:
      isMessagePort(handle) ? RunLoopMessagePort(owning: handle) : RunLoopDescriptor(owning: handle)
    case TREADLE_KIND_PORT: RunLoopPort(owning: handle)
    default: RunLoopItem(owning: handle)
    }
  }

  private static func isMessagePort(_ handle: OpaquePointer) -> Bool {
    var length = 0
    return treadle_message_port_get_name(handle, nil, 0, &length) == TREADLE_OK
  }
}

/// The counters of a loop since its creation. Since 1.0.
public struct RunLoopCounters: Sendable {
  /// Passes that have begun, of runs at all levels. Since 1.0.
  public internal(set) var passes: UInt64
  /// Sleeps in the kernel. Since 1.0.
  public internal(set) var sleeps: UInt64
  /// Sleeps that a wake-up ended, or kept from beginning. Since 1.0.
  public internal(set) var wakes: UInt64
  /// Calls: posts, sources, timers, descriptor sources, requests and ports, for each message. Since 1.0.
  public internal(set) var posts, signals, timers, descriptors, requests, messages: UInt64
  /// Posts and requests that were destroyed uncalled when the loop's thread ended. Since 1.0.
  public internal(set) var discarded: UInt64
  /// The duration of the longest callback of a run; zero unless `TREADLE_DEBUG`, `TREADLE_SLOW_MS` or a log function is
  /// set. Since 1.0.
  public internal(set) var longest: Duration
  /// Why the last run that finished did. Since 1.0.
  public internal(set) var lastFinish: Finish

  /// Why a run has finished. Since 1.0.
  public enum Finish: UInt32, Sendable {
    /// None has yet.
    case none
    /// At once: there is no such mode, or it was that of the common modes (RUN-1, MODE-9).
    case unknownMode
    /// At once: nothing was in the mode or queued for it (RUN-1).
    case emptyAtOnce
    /// After a pass: nothing was left in the mode (RUN-10).
    case becameEmpty
  }
}

extension RunLoopCounters: CustomStringConvertible {
  /// All of them in a line. Since 1.0.
  public var description: String {
    "\(passes) passes, \(sleeps) sleeps, \(wakes) wakes; called: \(posts) posts, \(signals) signals, \(timers) timers, "
      + "\(descriptors) descriptors, \(requests) requests, \(messages) messages; last finish: \(lastFinish)"
  }
}

extension RunLoop {
  /// The loop's counters. Those of a batch count when it is over. Any thread. Since 1.0.
  public var counters: RunLoopCounters {
    var counters = treadle_loop_counters()
    counters.struct_size = MemoryLayout<treadle_loop_counters>.size
    _ = treadle_loop_get_counters(handle, &counters)
    return RunLoopCounters(
      passes: counters.passes, sleeps: counters.sleeps, wakes: counters.wakes, posts: counters.posts,
      signals: counters.signals, timers: counters.timers, descriptors: counters.descriptors,
      requests: counters.requests,
      messages: counters.messages, discarded: counters.discarded,
      longest: .nanoseconds(counters.longest_ns),
      lastFinish: RunLoopCounters.Finish(rawValue: counters.last_finish) ?? .none)
  }
}
