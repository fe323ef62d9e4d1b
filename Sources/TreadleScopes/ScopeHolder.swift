// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
package import TreadleBase

/// Something that keeps a scope from being closed, or would.
package struct ScopeHolder {
  /// Of `TreadleBase.Kind`, or of `ScopeWork.Sort`.
  package let kind: UInt32
  /// The kernel's id of the thread that is inside of it; 0 if nobody is, or that is not known.
  package let threadID: Int32
  /// 0 for what has none.
  package let handle: UInt

  package init(kind: UInt32, threadID: Int32, handle: UInt) {
    self.kind = kind
    self.threadID = threadID
    self.handle = handle
  }

  /// Calls `body` with each thing in the scope, and its label, which lives as long as the call.
  package static func forEach(in scope: Scope, _ body: (ScopeHolder, UnsafePointer<CChar>?) -> Void) {
    scope.forEachMaker { threadID in body(ScopeHolder(kind: ScopeWork.Sort.call, threadID: threadID, handle: 0), nil) }
    forEachPost(of: scope) { threadID in
      body(ScopeHolder(kind: ScopeWork.Sort.post, threadID: threadID, handle: 0), nil)
    }
    scope.forEachWork { work in
      body(ScopeHolder(kind: work.pointee.kind, threadID: ScopeWork.thread(of: work), handle: 0), nil)
      return true
    }
    var serial: UInt64 = 0
    while let member = scope.member(after: serial) {
      serial = member.serial
      let handle = Handle(bits: UInt(member.handle))
      guard let kind = handle.kind, !Slab(kind).isOver(handle) else { continue }
      tell(handle, kind, body)
    }
  }

  /// Calls `body` for each post that is no work: those that loops call, with the thread's id, then those that wait,
  /// with 0.
  private static func forEachPost(of scope: Scope, _ body: (Int32) -> Void) {
    var waitingCount = 0
    scope.forEachCalledPosts { threadID, left in
      body(threadID)
      waitingCount &+= left
    }
    // A closing has ended those that wait.
    if scope.hasEndedPosts { return }
    waitingCount &+= Loop.countOfQueuedPosts(of: scope)
    for _ in 0..<waitingCount { body(0) }
  }

  /// Calls `name` with the name of a thread that is inside of something, and `callback` with the label of the item
  /// whose callback it runs: texts that live as long as the calls, which may be left out. No lock of ours is held by
  /// the caller.
  package static func tellThread(
    _ id: Int32, name: (UnsafePointer<CChar>) -> Void, callback: (UnsafePointer<CChar>) -> Void
  ) {
    Thread.withName(ofThread: id, name)
    Loop.withItem(calledOn: id) { item in if let label = item.label { callback(label) } }
  }

  private static func tell(_ handle: Handle, _ kind: Kind, _ body: (ScopeHolder, UnsafePointer<CChar>?) -> Void) {
    if kind.isItem, let item = try? Item.hold(kind, handle.bits, "item") {
      body(ScopeHolder(kind: kind.rawValue, threadID: Loop.idOfThread(calling: item), handle: handle.bits), item.label)
      item.letGo()
    } else if kind == .thread, let thread = try? Thread.hold(handle.bits, "thread") {
      body(ScopeHolder(kind: kind.rawValue, threadID: thread.knownID ?? 0, handle: handle.bits), nil)
      thread.letGo()
    } else if kind == .scope, let scope = try? Scope.hold(handle.bits, "scope") {
      body(ScopeHolder(kind: kind.rawValue, threadID: 0, handle: handle.bits), UnsafePointer(scope.state.label))
      scope.letGo()
    } else {
      body(ScopeHolder(kind: kind.rawValue, threadID: 0, handle: handle.bits), nil)
    }
  }
}
