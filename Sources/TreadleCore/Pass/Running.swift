// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// What a loop calls now, and what waits in its queues, for descriptions from any thread. An item is found by
/// `LoopState.calling`, a post or request by `LoopState.running`. All of it is of a moment that may be over.
package struct RunningCall {
  /// Held: for the caller to let go; nil for a post or request.
  package let item: Item?
  package let name: CallName
  /// When it began, or, where callbacks are not timed, a time at which it had not begun; 0: not known.
  package let since: Int64
  package let isTimed: Bool
  /// Of a post: how many the pass has taken together with it.
  package let drained: Int
}

extension Loop {
  /// Calls `body` with the item whose callback a thread runs in its innermost run, if there is one.
  package static func withItem(calledOn threadID: Int32, _ body: (Item) -> Void) {
    var found: Item?
    Slab(.loop).forEachLive { _, memory in
      let loop = Loop(memory)
      if loop.threadID != threadID { return true }
      found = loop.holdRunning()?.item
      return false
    }
    guard let found else { return }
    body(found)
    found.letGo()
  }

  /// Nil between callbacks, outside of runs and asleep. What is relaxed here is a value alone: the hold acquires the
  /// item.
  package func holdRunning() -> RunningCall? {
    if state.depth.load(ordering: .relaxed) == 0 || isWaiting { return nil }
    let timed = state.calledSince.load(ordering: .relaxed)
    let since = timed != 0 ? timed : state.awakeSince.load(ordering: .relaxed)
    let name = CallName(bits: state.running.load(ordering: .acquiring))
    if name.bits != 0 {
      let drained = Int(state.drained.load(ordering: .relaxed))
      return RunningCall(item: nil, name: name, since: since, isTimed: timed != 0, drained: drained)
    }
    let tag = state.calling.load(ordering: .relaxed)
    guard let item = Item(tag: tag), item.cell.reference.hold(item.generation) else { return nil }
    if state.calling.load(ordering: .relaxed) == tag {
      return RunningCall(item: item, name: .none, since: since, isTimed: timed != 0, drained: 0)
    }
    item.letGo()
    return nil
  }

  /// The innermost callback, if it is timed. Any thread.
  package var timedCall: TimedCall? {
    let since = state.calledSince.load(ordering: .sequentiallyConsistent)
    return since == 0 ? nil : TimedCall(since: since, word: Loop.address(of: state.calledSince))
  }
  /// Whether that call still runs.
  package func isCalled(_ call: TimedCall) -> Bool { state.calledSince.load(ordering: .acquiring) == call.since }
  private static func address(of word: borrowing Atomic<Int64>) -> UnsafeRawPointer {
    withUnsafePointer(to: word) { UnsafeRawPointer($0) }
  }

  /// The posts and requests that no pass has taken, oldest first, up to the room that there is; and how many there are.
  package func queued(_ posts: inout Queued.Room, _ requests: inout Queued.Room) -> (posts: Int, requests: Int) {
    var count = (posts: 0, requests: 0)
    lock()
    defer { unlock() }
    var next = state.firstJob
    while let job = next {
      requests.set(count.requests, Queued(name: job.pointee.name, since: job.pointee.queuedAt))
      count.requests &+= 1
      next = job.pointee.next
    }
    state.gate.lock()
    defer { state.gate.unlock() }
    next = state.firstIncomingJob
    while let job = next {
      requests.set(count.requests, Queued(name: job.pointee.name, since: job.pointee.queuedAt))
      count.requests &+= 1
      next = job.pointee.next
    }
    list(state.deferred, &posts, &count.posts)
    forEachPart { entries in
      list(entries, &posts, &count.posts)
      return true
    }
    return count
  }

  private func list(_ entries: Buffer<Entry>, _ posts: inout Queued.Room, _ count: inout Int) {
    var index = 0
    while let entry = entries[index] {
      index &+= 1
      if let group = PostGroup(entry) {
        if group.hasEnded { index &+= group.count }
        continue
      }
      if let code = entry.code {
        posts.set(count, Queued(name: CallName(post: code), since: 0))
      } else if let node = entry.node {
        posts.set(count, Queued(name: node.pointee.item.name, since: node.pointee.queuedAt))
      }
      count &+= 1
    }
  }

  // MARK: Runs inside of callbacks. Owner

  /// A run begins inside of a callback, of which this is told when the run has ended.
  func beginNestedCalls() -> CalloutRecord {
    let outer = CalloutRecord(
      running: state.running.load(ordering: .relaxed), drained: state.drained.load(ordering: .relaxed),
      calledSince: state.calledSince.load(ordering: .relaxed), awakeSince: state.awakeSince.load(ordering: .relaxed))
    endNestedCalls(CalloutRecord(awakeSince: outer.awakeSince))
    return outer
  }

  func endNestedCalls(_ outer: CalloutRecord) {
    state.running.store(outer.running, ordering: .releasing)
    state.drained.store(outer.drained, ordering: .relaxed)
    state.calledSince.store(outer.calledSince, ordering: .relaxed)
    state.awakeSince.store(outer.awakeSince, ordering: .relaxed)
  }
}

/// A callback that is timed: when it began, and the word of 8 bytes that says so as long as it runs. The memory of
/// loops stays.
package struct TimedCall {
  package let since: Int64
  package let word: UnsafeRawPointer
}

/// What a loop tells of its innermost callback.
struct CalloutRecord: BitwiseCopyable {
  var running: UInt = 0
  var drained: UInt32 = 0
  var calledSince: Int64 = 0
  var awakeSince: Int64 = 0
}

/// A post or request in a queue. since: 0 where it is not known.
package struct Queued: BitwiseCopyable {
  package let name: CallName
  package let since: Int64

  /// As many as a description lists.
  package struct Room {
    package static let capacity = 16
    private var elements = InlineArray<16, Queued>(repeating: Queued(name: .none, since: 0))

    package init() {}
    package func element(_ index: Int) -> Queued? { index >= 0 && index < Room.capacity ? elements[index] : nil }
    mutating func set(_ index: Int, _ element: Queued) {
      if index >= 0 && index < Room.capacity { elements[index] = element }
    }
  }
}
