// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import Synchronization

/// The plain posts of one scope that a loop calls, one after the other. They are no works (`ScopeWork`): they have
/// nothing to release, so only the queues of loops know them, and a closing need not find those that wait.
///
/// This lies in the frame of a run, and is on the scope's list from before the first call until after the last one. It
/// is listed under the lock under which a closing ends the posts of the scope, so the closing finds it, and waits until
/// it is gone, or no post is called.
package struct ScopePosts: ~Copyable {
  package typealias Pointer = UnsafeMutablePointer<ScopePosts>

  /// Held; nil while none is called. Written by the loop's thread, read by others while that waits.
  package private(set) var scope: Scope?
  /// Constant while it is listed.
  private var threadID: Int32 = 0
  /// How many are to be called behind the one that runs. Written by the loop's thread.
  package let left = Atomic<UInt32>(0)
  // Of the scope's list. Lock.
  private var previous: Pointer?
  fileprivate var next: Pointer?

  package init() {}

  /// The loop is about to call posts of a scope. False if none of them is to be called.
  package static func begin(_ posts: Pointer, of handle: Handle, count: Int) -> Bool {
    assert(posts.pointee.scope == nil, "a run calls posts of one scope at a time")
    guard let memory = try? Slab(.scope).hold(handle.bits, "scope") else { return false }
    let scope = Scope(memory)
    posts.pointee.threadID = Runtime.threadID
    posts.pointee.left.store(UInt32(truncatingIfNeeded: count), ordering: .relaxed)
    scope.lock()
    let isOpen = !scope.hasEndedPosts
    if isOpen {
      posts.pointee.scope = scope
      posts.pointee.previous = nil
      posts.pointee.next = scope.state.posts
      posts.pointee.next?.pointee.previous = posts
      scope.state.posts = posts
    }
    scope.unlock()
    if !isOpen { scope.letGo() }
    return isOpen
  }

  /// None of them runs any more.
  package static func end(_ posts: Pointer) {
    guard let scope = posts.pointee.scope else { return }
    scope.lock()
    let (previous, next) = (posts.pointee.previous, posts.pointee.next)
    if let previous { previous.pointee.next = next } else { scope.state.posts = next }
    next?.pointee.previous = previous
    let isAwaited = scope.isClosing
    scope.unlock()
    posts.pointee.scope = nil
    scope.letGo()
    if isAwaited { Rest.announce() }
  }

  fileprivate func isOn(_ thread: Int32) -> Bool { threadID == thread }

  /// Calls `body`, under the scope's lock, with the kernel's id of the thread and how many are left.
  fileprivate func tell(_ body: (Int32, Int) -> Void) { body(threadID, Int(left.load(ordering: .relaxed))) }
}

extension Scope {
  /// Whether no post of the scope is called any more but those that run. Decided under the lock; a look without it
  /// orders nothing.
  package var hasEndedPosts: Bool { state.hasEndedPosts.load(ordering: .relaxed) }

  /// No post of the scope is called from here on but those that run.
  package func endPosts() {
    if hasEndedPosts { return }
    lock()
    state.hasEndedPosts.store(true, ordering: .relaxed)
    unlock()
  }

  /// Whether a post runs, or another thread is about to call one.
  package var isCallingPosts: Bool {
    lock()
    defer { unlock() }
    return state.posts != nil
  }

  /// Whether a post runs on the calling thread's stack.
  package var isPostHere: Bool {
    let thread = Runtime.threadID
    lock()
    defer { unlock() }
    var next = state.posts
    while let posts = next {
      if posts.pointee.isOn(thread) { return true }
      next = posts.pointee.next
    }
    return false
  }

  /// Calls `body`, under the lock, for each post that runs, with the kernel's id of its thread, and how many the thread
  /// is to call next that were queued behind that one.
  package func forEachCalledPosts(_ body: (Int32, Int) -> Void) {
    lock()
    defer { unlock() }
    var next = state.posts
    while let posts = next {
      posts.pointee.tell(body)
      next = posts.pointee.next
    }
  }
}
