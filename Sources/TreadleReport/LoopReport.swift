// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleCore
package import TreadleBase

/// A loop in words: what it does, what waits in its queues, then its modes in the order in which they were made, each
/// with its members. The caller holds the loop, and no lock; what it says of one item and of another may be of
/// different moments.
extension Loop {
  package func report(_ text: inout FixedText) throws(Failure) {
    text.append("run loop of thread ")
    text.append(thread: threadID, of: self)
    text.append((isWaiting ? ", waiting" : ", not waiting") as StaticString)
    try withCurrentModeName { name throws(Failure) in
      guard let name else { return }
      text.append(", in mode ")
      text.append(name)
    }
    reportRunning(&text)
    reportQueues(&text)
    var members = try Members(of: self, in: nil)
    defer { members.free() }
    var modes = try HeldModes(of: self)
    defer { modes.free() }
    var groups = try members.byMode()
    defer { groups.free() }
    modes.forEach { report($0, groups, &text) }
  }

  private func report(_ mode: Mode, _ groups: MembersByMode, _ text: inout FixedText) {
    text.append("\n  mode ")
    if let name = mode.name { text.append(quoted: name) }
    if mode.isCommon { text.append(", common") }
    groups.forEachItem(of: mode) { item in
      text.append("\n    ")
      item.reportLine(&text, in: mode)
    }
  }

  // MARK: What it does

  private func reportRunning(_ text: inout FixedText) {
    guard let call = holdRunning() else { return }
    text.append("\n  runs ")
    if let item = call.item {
      item.reportName(&text)
      item.letGo()
    } else {
      text.append(call.name)
    }
    if call.since != 0 {
      text.append((call.isTimed ? " for " : " for at most ") as StaticString)
      text.append(nanoseconds: max(Clock.now() &- call.since, 0))
    }
    text.append(", in pass ")
    text.append(Int64(truncatingIfNeeded: counters.pointee.passes.load(ordering: .relaxed)))
    if call.drained > 1 {
      text.append(", one of ")
      text.append(Int64(call.drained))
      text.append(" posts that the pass has taken")
    }
  }

  private func reportQueues(_ text: inout FixedText) {
    var posts = Queued.Room()
    var requests = Queued.Room()
    let count = queued(&posts, &requests)
    report(posts, count.posts, &text)
    report(requests, count.requests, &text)
  }

  private func report(_ room: Queued.Room, _ count: Int, _ text: inout FixedText) {
    var index = 0
    let now = Clock.now()
    while index < count, let waiting = room.element(index) {
      text.append("\n  queued ")
      text.append(waiting.name)
      if waiting.since != 0 {
        text.append(", for ")
        text.append(nanoseconds: max(now &- waiting.since, 0))
      }
      index &+= 1
    }
    if index == count { return }
    text.append("\n  queued ")
    text.append(Int64(count &- index))
    text.append(" more")
  }
}

/// A thread in words: its name, ids and state, then its loop.
extension Thread {
  package func report(_ text: inout FixedText) throws(Failure) {
    text.append("thread ")
    withName { name in
      guard let name else { return }
      text.append(quoted: name)
      text.append(" ")
    }
    text.append(handle: handle)
    let words: (StaticString, StaticString, StaticString, StaticString) = (
      ", created", ", starting", ", executing", ", finished"
    )
    switch phase {
    case Phase.created: text.append(words.0)
    case Phase.starting: text.append(words.1)
    case Phase.executing: text.append(words.2)
    default: text.append(words.3)
    }
    if isMain { text.append(", main") }
    if isCancelled { text.append(", cancelled") }
    if let id = knownID {
      text.append(", id ")
      text.append(Int64(id))
    }
    guard let loop = holdExistingLoop() else { return text.append(", without a loop") }
    defer { loop.letGo() }
    text.append("\n")
    try loop.report(&text)
  }
}
