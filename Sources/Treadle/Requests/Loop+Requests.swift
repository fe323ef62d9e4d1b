// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A loop's queue of requests. Other threads append to the incoming ones under the gate; the owner moves
/// them to a list under the lock, where those that no mode has admitted yet stay in their order.
extension Loop {
  /// Finds the modes that a request names, and makes them if need be; nil stands for the common ones.
  func resolve(_ modes: Thread.Modes?, into slots: inout Buffer<UInt32>) throws(Failure) {
    guard let modes else { return }
    mutex.lock()
    defer { mutex.unlock() }
    try appendSlots(of: modes, to: &slots, "request")
  }

  /// Appends a request and wakes the loop. False when no pass will ever look at it.
  func enqueue(_ node: UnsafeMutablePointer<RequestNode>) -> Bool {
    let isForeign = !isCurrent
    state.pointee.gate.lock()
    // Looked at here, since both ends take the gate for the last time after they said so.
    let isOpen = isAlive && !treadle_system_is_closed_now()
    var sleep = Sleep.awake
    if isOpen {
      state.pointee.requestCount = state.pointee.requestCount &+ 1
      node.pointee.sequence = state.pointee.requestCount
      node.pointee.time = SignalTime.next(on: self)
      if state.pointee.firstIncoming.load(ordering: .relaxed) == nil {
        state.pointee.firstIncoming.store(node, ordering: .releasing)
      } else {
        state.pointee.lastIncoming?.pointee.next = node
      }
      state.pointee.lastIncoming = node
      // From here on it can be cancelled: who sees that it is queued finds it in the queue.
      if node.pointee.isCarried { CarriedCall(node).markQueued() }
      if isForeign { noteCaller() }
      sleep = markWoken()
    }
    state.pointee.gate.unlock()
    if sleep != Sleep.awake { endSleep(sleep) }
    return isOpen
  }

  @inline(__always)
  var hasIncomingRequests: Bool { state.pointee.firstIncoming.load(ordering: .acquiring) != nil }

  /// Detaches what others have queued. Where that ends is on a cache line of theirs: it is found by walking.
  private func takeIncoming() -> UnsafeMutablePointer<RequestNode>? {
    state.pointee.gate.lock()
    let first = state.pointee.firstIncoming.load(ordering: .relaxed)
    state.pointee.firstIncoming.store(nil, ordering: .releasing)
    state.pointee.isCalledFromOutside = false
    state.pointee.gate.unlock()
    return first
  }

  // MARK: Owner

  @inline(__always)
  var hasRequests: Bool { hasIncomingRequests || firstRequest != nil }

  private var firstRequest: UnsafeMutablePointer<RequestNode>? {
    get { state.pointee.firstRequest.load(ordering: .acquiring) }
    nonmutating set { state.pointee.firstRequest.store(newValue, ordering: .releasing) }
  }

  /// Whether a queued request is eligible in the mode: such a mode is not empty (PERF-6).
  @inline(__always)
  func hasEligibleRequest(_ mode: Mode) -> Bool { hasRequests && findEligibleRequest(mode) }

  @inline(never)
  private func findEligibleRequest(_ mode: Mode) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    moveIncoming()
    var next = firstRequest
    while let node = next {
      if admits(mode, node) { return true }
      next = node.pointee.next
    }
    return false
  }

  /// The caller holds the lock.
  private func moveIncoming() {
    if !hasIncomingRequests { return }
    guard var last = takeIncoming() else { return }
    if let end = state.pointee.lastRequest { end.pointee.next = last } else { firstRequest = last }
    while let next = last.pointee.next { last = next }
    state.pointee.lastRequest = last
    noteRevision()
  }

  private func admits(_ mode: Mode, _ node: UnsafeMutablePointer<RequestNode>) -> Bool {
    if node.pointee.modes.isEmpty {
      return mode.state.pointee.isCommon
        || node.pointee.isForCallMode && mode.slot == state.pointee.callMode.load(ordering: .relaxed)
    }
    return names(node.pointee.modes, mode)
  }

  /// Whether a thread that only runs this loop in the call mode performs it.
  func admitsInCallMode(_ node: UnsafeMutablePointer<RequestNode>) -> Bool {
    guard let mode = Mode(slot: state.pointee.callMode.load(ordering: .acquiring)) else { return false }
    mutex.lock()
    defer { mutex.unlock() }
    return admits(mode, node)
  }

  /// PASS-5: from now on the pass performs what has been queued, but nothing that comes later (PERF-4).
  @inline(__always)
  func collectRequests(_ frame: UnsafeMutablePointer<Frame>) {
    if hasRequests { lookAtRequests(frame) }
  }

  @inline(never)
  private func lookAtRequests(_ frame: UnsafeMutablePointer<Frame>) {
    mutex.lock()
    defer { mutex.unlock() }
    moveIncoming()
    frame.pointee.requestLimit = state.pointee.lastRequest?.pointee.sequence ?? 0
    frame.pointee.requestsBegan = false
    frame.pointee.beforeRequest = nil
    frame.pointee.requestRemovals = state.pointee.requestRemovals
  }

  /// The next request of the pass, in the frame's callout; false when there is none, or when it is another
  /// source's turn. All of them together are one source of order 0 (PERF-5).
  func nextRequest(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if frame.pointee.requestLimit == 0 { return false }
    mutex.lock()
    defer { mutex.unlock() }
    if frame.pointee.requestRemovals != state.pointee.requestRemovals {
      // A nested run has performed some: the place in the list may be gone.
      frame.pointee.beforeRequest = nil
    }
    let mode = frame.pointee.mode
    var before = frame.pointee.beforeRequest
    var next = before == nil ? firstRequest : before?.pointee.next
    while let node = next, node.pointee.sequence <= frame.pointee.requestLimit, !admits(mode, node) {
      before = node
      next = node.pointee.next
    }
    frame.pointee.beforeRequest = before
    guard let node = next, node.pointee.sequence <= frame.pointee.requestLimit else {
      frame.pointee.requestLimit = 0
      return false
    }
    if !frame.pointee.requestsBegan {
      if sourceGoesFirst(frame, node.pointee.time) { return false }
      frame.pointee.requestsBegan = true
      frame.pointee.handled = true
    }
    // The last one: there is nothing to come back for.
    let following = node.pointee.next
    if following == nil || following.map({ $0.pointee.sequence > frame.pointee.requestLimit }) == true {
      frame.pointee.requestLimit = 0
    }
    unlink(node, after: before)
    frame.pointee.requestRemovals = state.pointee.requestRemovals
    frame.pointee.callout.setRequest(node)
    // From here on it cannot be cancelled any more.
    if node.pointee.isCarried { CarriedCall(node).markRunning() }
    return true
  }

  /// Whether the next collected source comes before requests that were first made at a time.
  private func sourceGoesFirst(_ frame: UnsafeMutablePointer<Frame>, _ time: UInt64) -> Bool {
    guard let bits = frame.pointee.collected[frame.pointee.collectedIndex],
      let item = Mention(bits: bits).item(.source, in: frame.pointee.mode)
    else { return false }
    return (item.order, item.signalTime) < (0, time)
  }

  // MARK: The end

  /// Takes a request out that no pass has taken yet, for the caller to finish; false if there is none such. Any
  /// thread.
  func takeOut(_ wanted: UnsafeMutablePointer<RequestNode>) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    moveIncoming()
    var before: UnsafeMutablePointer<RequestNode>?
    var next = firstRequest
    while let node = next {
      if node == wanted {
        unlink(node, after: before)
        return true
      }
      before = node
      next = node.pointee.next
    }
    return false
  }

  /// The caller holds the lock.
  private func unlink(
    _ node: UnsafeMutablePointer<RequestNode>, after before: UnsafeMutablePointer<RequestNode>?
  ) {
    if let before { before.pointee.next = node.pointee.next } else { firstRequest = node.pointee.next }
    if state.pointee.lastRequest == node { state.pointee.lastRequest = before }
    node.pointee.next = nil
    // Passes that are about to go on behind it look from the beginning.
    state.pointee.requestRemovals = state.pointee.requestRemovals &+ 1
  }

  /// The thread has ended, or everything was shut down: what is queued is dropped, and who waits for it
  /// told (PERF-9). Any thread.
  @_optimize(size)
  func discardRequests() {
    if !hasRequests { return }
    mutex.lock()
    moveIncoming()
    var next = firstRequest
    firstRequest = nil
    state.pointee.lastRequest = nil
    state.pointee.requestRemovals = state.pointee.requestRemovals &+ 1
    mutex.unlock()
    while let node = next {
      next = node.pointee.next
      RequestNode.finish(node, Waiter.Outcome.dropped)
    }
  }
}
