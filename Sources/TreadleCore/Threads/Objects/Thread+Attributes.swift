// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// What a thread is configured with, before its start (THR-13).
extension Thread {
  static let defaultStackSize = 524_288

  package var stackSize: Int { withLock { state.stackSize } }
  package func setStackSize(_ size: Int) throws(Failure) {
    if size < 16_384 || size > 1 << 30 || size % 4096 != 0 {
      throw Failure(Status.range, "size", "is not a multiple of 4096 from 16384 to 1 GiB")
    }
    try configure { state.stackSize = size }
  }

  package var policy: UInt32 { withLock { state.policy } }
  package func setPolicy(_ policy: UInt32) throws(Failure) { try configure { state.policy = policy } }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return body()
  }

  /// Changes an attribute that a start uses: later it would be too late.
  private func configure(_ body: () -> Void) throws(Failure) {
    let isDone = withLock {
      if phase != Phase.created { return false }
      body()
      return true
    }
    if !isDone { throw Failure(Status.state, "thread", "was started: it is too late to configure it") }
  }

  // MARK: Priority

  package var priority: Double { withLock { state.priority } }
  package var isPriorityApplied: Bool { withLock { state.isPriorityApplied } }

  /// Before the start, or of the calling thread.
  package func setPriority(_ priority: Double) throws(Failure) {
    if priority != priority { throw Failure(Status.argument, "priority", "is not a number") }
    let limited = min(max(priority, 0), 1)
    if try Thread.current().address != address {
      try configure {
        state.priority = limited
        state.isPriorityApplied = false
      }
      return
    }
    let policy = withLock {
      state.priority = limited
      return state.policy
    }
    let isApplied = treadle_system_thread_set_priority(policy, limited) == 0
    withLock { state.isPriorityApplied = isApplied }
  }

  /// On the new thread. With a real-time policy the system has set the level with the policy.
  func applyPriorityOfStart() {
    let (isPending, policy, priority) = withLock {
      (!state.isPriorityApplied, state.policy, state.priority)
    }
    if !isPending || hasFlag(Flag.refused) { return }
    let isApplied = treadle_system_thread_set_priority(policy, priority) == 0
    withLock { state.isPriorityApplied = isApplied }
  }

  /// The system did not permit the policy: the thread runs with the default one.
  func priorityWasRefused() {
    setFlag(Flag.refused)
    withLock { state.isPriorityApplied = false }
  }

  // MARK: Name

  /// Gives the thread its own copy of a name that is well formed.
  package func setName(_ name: UnsafePointer<CChar>) throws(Failure) {
    let length = strlen(name)
    if length > 0xFFFF { throw Failure(Status.range, "name", "is longer than 65535 bytes") }
    guard UTF8Text.isWellFormed(name) else { throw Failure(Status.argument, "name", "is not well-formed UTF-8") }
    guard let memory = treadle_system_allocate(length &+ 1) else { throw Failure.noMemory("name") }
    memcpy(memory, name, length &+ 1)
    lock()
    let old = state.name
    state.name = memory.assumingMemoryBound(to: CChar.self)
    // Under the lock, which a thread takes before it ends: the pthread_t is good.
    if isExecuting { applyName() }
    unlock()
    treadle_system_free(old)
  }

  /// Calls `body` with the name, under the lock; nil when none was set.
  package func withName(_ body: (UnsafePointer<CChar>?) -> Void) {
    withLock { body(state.name.map { UnsafePointer($0) }) }
  }

  /// Calls `body` with the name of the thread that has a kernel's id: the one that was set, under the lock, else the
  /// kernel's.
  package static func withName(ofThread id: Int32, _ body: (UnsafePointer<CChar>) -> Void) {
    var isTold = false
    forLiving(id) { thread in
      thread.withName { name in
        guard let name else { return }
        body(name)
        isTold = true
      }
    }
    if isTold { return }
    var room: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &room) { bytes in
      guard let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      treadle_system_thread_name(id, text)
      body(text)
    }
  }

  /// Calls `body` with the thread that has a kernel's id, if it has an object and has not ended.
  private static func forLiving(_ id: Int32, _ body: (Thread) -> Void) {
    Slab(.thread).forEachLive { _, memory in
      // Held before it is looked at: its slot may be given back at any time.
      let thread = Thread(memory)
      guard thread.state.reference.hold(thread.state.reference.generation) else { return true }
      defer { thread.drop() }
      if thread.knownID != id || thread.isFinished { return true }
      body(thread)
      return false
    }
  }

  /// The kernel has room for 15 bytes. The caller holds the lock.
  func applyName() {
    guard let name = state.name else { return }
    let pthread = state.pthread.load(ordering: .relaxed)
    if pthread == 0 { return }
    var room: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &room) { bytes in
      guard let base = bytes.baseAddress else { return }
      memcpy(base, name, UTF8Text.prefix(of: name, atMost: 15))
      _ = treadle_system_thread_set_name(pthread, UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self))
    }
  }
}
