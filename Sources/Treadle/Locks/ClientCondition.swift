// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

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

  private let state: UnsafeMutablePointer<State>

  private init(_ memory: UnsafeMutableRawPointer) { state = memory.assumingMemoryBound(to: State.self) }

  /// The condition that a client's handle means.
  package init(_ handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    guard let memory = Slab(.condition).find(handle) else { throw handle.failure(subject) }
    self.init(memory)
  }

  /// The same, held until `letGo`.
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> ClientCondition {
    ClientCondition(try Slab(.condition).hold(handle, subject))
  }
  package func letGo() {
    if !state.pointee.reference.release() { return }
    treadle_system_native_condition_destroy(native)
    Slab(.condition).free(state.pointee.slot)
  }

  /// A new condition with the client's one reference.
  package static func create() throws(Failure) -> ClientCondition {
    try Loop.startRuntime()
    guard let slot = Slab(.condition).allocate(), let memory = Slab(.condition).memory(slot) else {
      throw Failure.noMemory("condition")
    }
    let condition = ClientCondition(memory)
    condition.state.pointee.slot = slot
    let result = treadle_system_native_condition_create(condition.native)
    if result == 0 { return condition }
    Slab(.condition).free(slot)
    throw Failure.system("condition", result)
  }

  package var handle: Handle {
    Handle(kind: .condition, slot: state.pointee.slot, generation: state.pointee.reference.generation)
  }

  package func retain() -> Int32 {
    state.pointee.reference.retainForClient(generation: state.pointee.reference.generation)
  }

  package func release() throws(Failure) {
    guard state.pointee.reference.surrenderClient(generation: state.pointee.reference.generation) == Status.ok else {
      throw Failure(Status.stale, "condition", "was released more often than retained")
    }
    letGo()
  }

  /// The pthread_cond_t.
  package var native: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(state) + Int(TREADLE_SYSTEM_NATIVE_OFFSET)
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
