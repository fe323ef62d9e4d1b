// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// The first entry of a group: plain posts of one scope, which lie behind it in the queue, next to each other. So a
/// post inside of a scope is an entry like any other post, and its scope costs one more entry for each group. A group
/// whose scope has ended its posts, or is gone, stays where it is, and is passed over (`ScopePosts`).
///
/// It is an entry without a function whose second word is odd, which the address of a node is not:
///
///     bit 63..40       39..16   15..1   0
///         generation   slot     count   1
struct PostGroup: BitwiseCopyable {
  private let bits: UInt64
  private static let mostPosts: UInt64 = 0x7FFF
  private static let countBits = mostPosts << 1

  /// One without posts.
  @inline(__always)
  init(of scope: Scope) {
    let handle = scope.handle
    bits = UInt64(handle.generation) << 40 | UInt64(handle.slot) << 16 | 1
  }

  private init(bits: UInt64) { self.bits = bits }

  /// One without posts becomes one with some.
  @inline(__always)
  func with(count: Int) -> PostGroup { PostGroup(bits: bits | UInt64(truncatingIfNeeded: count) << 1) }

  /// Nil for any other entry.
  @inline(__always)
  init?(_ entry: Entry) {
    if entry.first != 0 || entry.second & 1 == 0 { return nil }
    bits = entry.second
  }

  var entry: Entry { Entry(first: 0, second: bits) }
  @inline(__always)
  var count: Int { Int(bits >> 1 & PostGroup.mostPosts) }
  var scope: Handle {
    Handle(
      kind: .scope, slot: UInt32(truncatingIfNeeded: bits >> 16) & 0xFF_FFFF,
      generation: UInt32(truncatingIfNeeded: bits >> 40))
  }

  /// Whether none of its posts is called any more, as of now.
  var hasEnded: Bool { Slab(.scope).find(scope).map { Scope($0).hasEndedPosts } ?? true }

  /// Of a group without posts: how many posts an entry has that is a group of the same scope, and has room for more;
  /// else nil.
  @inline(__always)
  func countToJoin(_ entry: Entry) -> Int? {
    let others = entry.second &- bits
    return entry.first == 0 && others < PostGroup.countBits ? Int(others >> 1) : nil
  }

  /// How many posts are in a queue: of the scope of a handle, or, without one, all that may be called still.
  static func countOfPosts(in entries: Buffer<Entry>, of scope: Handle? = nil) -> Int {
    var (count, index) = (0, 0)
    while let entry = entries[index] {
      index &+= 1
      if let group = PostGroup(entry) {
        index &+= group.count
        if scope.map({ $0.bits == group.scope.bits }) ?? !group.hasEnded { count &+= group.count }
      } else if scope == nil {
        count &+= 1
      }
    }
    return count
  }
}

extension Loop {
  /// Appends a plain post of a scope to the incoming ones: to the last group, or where that cannot be, and where the
  /// queue grows, to one that begins. `group`: one without posts. False without room. The gate is held.
  @inline(__always)
  func append(_ post: Entry, to group: PostGroup) -> Bool {
    let place = state.lastGroup
    if let last = state.incoming[place], let count = group.countToJoin(last),
      place &+ count &+ 1 == state.incoming.count,
      state.incoming.appendInRoom(post)
    {
      state.incoming.set(place, group.with(count: count &+ 1).entry)
      return true
    }
    return begin(group, post)
  }

  @inline(never)
  private func begin(_ group: PostGroup, _ post: Entry) -> Bool {
    state.lastGroup = state.incoming.count
    return state.incoming.appendInRoom(group.with(count: 1).entry) && state.incoming.appendInRoom(post)
  }

  /// How many plain posts of a scope are queued for all loops, without those that passes have taken.
  package static func countOfQueuedPosts(of scope: Scope) -> Int {
    var count = 0
    Slab(.loop).forEachLive { _, memory in
      let loop = Loop(memory)
      if loop.state.pending.load(ordering: .relaxed) & LoopState.Pending.groups == 0 { return true }
      guard loop.state.reference.hold(loop.state.reference.generation) else { return true }
      loop.lock()
      loop.state.gate.lock()
      count &+= PostGroup.countOfPosts(in: loop.state.deferred, of: scope.handle)
      loop.forEachPart { entries in
        count &+= PostGroup.countOfPosts(in: entries, of: scope.handle)
        return true
      }
      loop.state.gate.unlock()
      loop.unlock()
      loop.letGo()
      return true
    }
    return count
  }
}
