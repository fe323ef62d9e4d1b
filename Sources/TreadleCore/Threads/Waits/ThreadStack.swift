// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// The calls of clients that are on a thread's stack when it begins a wait. They stay there until the wait has ended,
/// so other threads may look at them under the wait gate.
package struct ThreadStack {
  package let threadID: Int32
  /// The thread's handle.
  package let thread: UInt
  package let closureCall: UnsafeMutableRawPointer?
  package let hostCall: UnsafeMutableRawPointer?
  package let scope: UnsafeMutableRawPointer?
  package let scopeCall: UnsafeMutableRawPointer?
  package let finishing: UInt8
  private let objectCall: UnsafeMutableRawPointer?
  private let frame: Frame.Pointer?
  private let firedTimer: UInt32
  /// Of clients, outside of runs.
  private let calls: UInt32

  /// The calling thread's.
  init() {
    let thread = treadle_system_thread()
    threadID = Int32(bitPattern: thread.pointee.id)
    self.thread = Thread.existing?.handle.bits ?? 0
    closureCall = thread.pointee.closure_call
    hostCall = thread.pointee.host_call
    scope = thread.pointee.scope
    scopeCall = thread.pointee.scope_call
    finishing = thread.pointee.finishing
    objectCall = thread.pointee.object_call
    frame = thread.pointee.loop.flatMap { Loop($0).frame }
    firedTimer = thread.pointee.fired_timer
    calls = thread.pointee.calls
  }

  package static func at(_ memory: UnsafeRawPointer) -> ThreadStack {
    memory.assumingMemoryBound(to: ThreadStack.self).pointee
  }

  /// Whether a callback of an item, or any call that belongs to an object with this handle, is on it.
  package func hasCall(of handle: UInt) -> Bool {
    if ObjectCall.isOn(objectCall, handle) { return true }
    var next = frame
    while let run = next {
      if let item = run.pointee.callout.item, item.handle.bits == handle { return true }
      next = run.pointee.outer
    }
    var timer = firedTimer
    while let item = Item(.timer, slot: timer) {
      if item.handle.bits == handle { return true }
      timer = item.due.firedInside
    }
    return false
  }

  /// Whether a callback is on it that a shutdown waits for.
  var hasCallback: Bool { frame != nil || calls != 0 }

  /// Whether a post of a scope is on it that is on no list of works (`ScopePosts`).
  package func hasPost(of scope: Scope) -> Bool {
    var next = frame
    while let run = next {
      if run.pointee.posts.scope?.address == scope.address { return true }
      next = run.pointee.outer
    }
    return false
  }
}

/// Something whose calls a thread waits for: what is looked for on the stacks of others.
package struct RestTarget {
  /// Whether a thread is inside of a call of this object, by that thread's `ThreadStack`. It takes no lock.
  package typealias IsOn = @convention(c) (UInt, UnsafeRawPointer) -> Bool
  package let word: UInt
  package let isOn: IsOn
  /// The end of a scope waits for it.
  private(set) var isOfScope = false

  package init(word: UInt, isOn: @escaping IsOn) {
    self.word = word
    self.isOn = isOn
  }
  package init(_ memory: UnsafeMutableRawPointer, isOn: @escaping IsOn) {
    self.init(word: UInt(bitPattern: memory), isOn: isOn)
  }
  /// An item, or any other object.
  package init(handle: UInt) { self.init(word: handle) { handle, stack in ThreadStack.at(stack).hasCall(of: handle) } }

  /// Waits as `Rest.wait`, while calls of it run on other threads. Refused where one of these waits for the calling
  /// thread.
  package func wait(_ seen: UInt32, until: Int64, ofScope: Bool = false) throws(Failure) {
    guard let caller = try? Thread.current() else { return Rest.wait(seen, until: until) }
    var target = self
    target.isOfScope = ofScope
    var edge = WaitEdge(for: target)
    try withUnsafeMutablePointer(to: &edge) { edge throws(Failure) in
      let token = try WaitGraph.begin(edge, of: caller)
      defer { WaitGraph.end(token) }
      Rest.wait(seen, until: until)
    }
  }
}
