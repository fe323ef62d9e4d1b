// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// A client's lock over a pthread mutex (THR-20): a thin handle, copied freely.
package struct ClientLock {
  /// The beginning of its slot; the mutex lies behind it.
  private struct State: ~Copyable {
    let reference: Reference
    /// What a late caller may still touch of a slot that is free (see `Slab`).
    let touched: Atomic<UInt64>
    /// Constant.
    var slot: UInt32
    /// How often it is locked through these functions. Changed by its owner alone.
    let depth: Atomic<UInt32>
  }

  private let address: UnsafeMutablePointer<State>
  /// What the handle leads to.
  @inline(__always)
  private var state: State {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  private init(_ memory: UnsafeMutableRawPointer) { address = memory.assumingMemoryBound(to: State.self) }

  /// The lock that a client's handle means, held until `letGo`.
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> ClientLock {
    ClientLock(try Slab(.lock).hold(handle, subject))
  }
  package func letGo() {
    if state.reference.drop().isGone { free() }
  }

  /// A new lock with the client's one reference.
  package static func create(isRecursive: Bool) throws(Failure) -> ClientLock {
    try Runtime.start()
    guard let (slot, memory) = Slab(.lock).take() else { throw Failure.noMemory("lock") }
    let lock = ClientLock(memory)
    lock.state.slot = slot
    lock.state.depth.store(0, ordering: .relaxed)
    let result = treadle_system_native_mutex_create(lock.native, isRecursive)
    if result == 0 {
      lock.state.reference.begin(forClient: true)
      return lock
    }
    Slab(.lock).giveBack(slot, memory)
    throw Failure.system("lock", result)
  }

  package var handle: Handle {
    Handle(kind: .lock, slot: state.slot, generation: state.reference.generation)
  }

  /// Returns a reference that the client owns.
  package static func release(_ handle: UInt) throws(Failure) {
    ClientLock(try Slab(.lock).surrender(handle, "lock")).letGo()
  }

  /// The last reference is gone. While it is locked, its owner, or a waiter, may use the memory: nobody else
  /// gets it then, ever.
  private func free() {
    if state.depth.load(ordering: .relaxed) != 0 { return }
    if treadle_system_native_mutex_destroy(native) == 0 {
      Slab(.lock).free(state.slot, UnsafeMutableRawPointer(address))
    }
  }

  // MARK: Locking

  /// The pthread_mutex_t.
  package var native: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(address) + Int(TREADLE_SYSTEM_NATIVE_OFFSET)
  }

  package func lock(timeout: Int64) throws(Failure) {
    let result = treadle_system_native_mutex_lock(native, ClientLock.deadline(timeout))
    if result == 0 {
      state.depth.wrappingAdd(1, ordering: .relaxed)
    } else if result == 0 &- treadle_system_etimedout() {
      throw Failure(Status.timeout, "timeout_ns", "passed while the lock was locked")
    } else if result == 0 &- treadle_system_edeadlk() {
      throw Failure(Status.deadlock, "lock", "is locked by the calling thread")
    } else if result == 0 &- treadle_system_eagain() {
      throw Failure(Status.range, "lock", "is locked too many times")
    } else {
      throw Failure.system("lock", result)
    }
  }

  package func unlock() throws(Failure) {
    // Before it is unlocked, when the next owner may count.
    state.depth.wrappingSubtract(1, ordering: .relaxed)
    let result = treadle_system_native_mutex_unlock(native)
    if result == 0 { return }
    state.depth.wrappingAdd(1, ordering: .relaxed)
    throw ClientLock.notOwned(result)
  }

  /// Runs `body`, which unlocks it and locks it again, or fails with the lock as it was.
  func whileUnlocked(_ body: () -> Int32) -> Int32 {
    state.depth.wrappingSubtract(1, ordering: .relaxed)
    let result = body()
    state.depth.wrappingAdd(1, ordering: .relaxed)
    return result
  }

  /// Fails if the calling thread has locked it more than once.
  func checkLockedOnce() throws(Failure) {
    if state.depth.load(ordering: .relaxed) <= 1 { return }
    // Somebody has: only the owner can once more.
    let result = treadle_system_native_mutex_lock(native, 0)
    if result == 0 { _ = treadle_system_native_mutex_unlock(native) }
    if result == 0 || result == 0 &- treadle_system_eagain() {
      throw Failure(Status.state, "lock", "is locked more than once")
    }
  }

  /// The failure of a thread that does not own it.
  static func notOwned(_ result: Int32) -> Failure {
    if result == 0 &- treadle_system_eperm() {
      return Failure(Status.wrongThread, "lock", "is not locked by the calling thread")
    }
    return Failure.system("lock", result)
  }

  /// When a wait of this length ends; one without waiting has ended long ago.
  static func deadline(_ timeout: Int64) -> Int64 {
    if timeout <= 0 { return 0 }
    return timeout == Clock.forever ? timeout : Clock.after(timeout, from: Clock.now())
  }
}

/// A client's condition over a pthread condition on the monotonic clock (THR-20): a thin handle, copied freely.
package struct ClientCondition {
  /// The beginning of its slot; the pthread condition lies behind it.
  private struct State: ~Copyable {
    let reference: Reference
    /// What a late caller may still touch of a slot that is free (see `Slab`).
    let touched: Atomic<UInt64>
    /// Constant.
    var slot: UInt32
  }

  private let address: UnsafeMutablePointer<State>
  /// What the handle leads to.
  @inline(__always)
  private var state: State {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  private init(_ memory: UnsafeMutableRawPointer) { address = memory.assumingMemoryBound(to: State.self) }

  /// The condition that a client's handle means, held until `letGo`.
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> ClientCondition {
    ClientCondition(try Slab(.condition).hold(handle, subject))
  }
  package func letGo() {
    if !state.reference.drop().isGone { return }
    treadle_system_native_condition_destroy(native)
    Slab(.condition).free(state.slot, UnsafeMutableRawPointer(address))
  }

  /// A new condition with the client's one reference.
  package static func create() throws(Failure) -> ClientCondition {
    try Runtime.start()
    guard let (slot, memory) = Slab(.condition).take() else { throw Failure.noMemory("condition") }
    let condition = ClientCondition(memory)
    condition.state.slot = slot
    let result = treadle_system_native_condition_create(condition.native)
    if result == 0 {
      condition.state.reference.begin(forClient: true)
      return condition
    }
    Slab(.condition).giveBack(slot, memory)
    throw Failure.system("condition", result)
  }

  package var handle: Handle {
    Handle(kind: .condition, slot: state.slot, generation: state.reference.generation)
  }

  /// Returns a reference that the client owns.
  package static func release(_ handle: UInt) throws(Failure) {
    ClientCondition(try Slab(.condition).surrender(handle, "condition")).letGo()
  }

  /// The pthread_cond_t.
  package var native: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(address) + Int(TREADLE_SYSTEM_NATIVE_OFFSET)
  }

  /// Waits, with the lock unlocked meanwhile. The caller holds both objects.
  package func wait(_ lock: ClientLock, timeout: Int64) throws(Failure) {
    // Unlocked once only, it would keep everybody else from signalling.
    try lock.checkLockedOnce()
    let result = lock.whileUnlocked {
      treadle_system_native_condition_wait(native, lock.native, ClientLock.deadline(timeout))
    }
    if result == 0 { return }
    if result == 0 &- treadle_system_etimedout() {
      throw Failure(Status.timeout, "timeout_ns", "passed without a signal")
    }
    throw ClientLock.notOwned(result)
  }

  package func signal() { treadle_system_native_condition_signal(native) }
  package func broadcast() { treadle_system_native_condition_broadcast(native) }
}
