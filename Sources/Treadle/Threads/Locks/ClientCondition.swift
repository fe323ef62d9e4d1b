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

  /// The condition that a client's handle means, held until `letGo`.
  package static func hold(_ handle: UInt, _ subject: StaticString) throws(Failure) -> ClientCondition {
    ClientCondition(try Slab(.condition).hold(handle, subject))
  }
  package func letGo() {
    if !state.pointee.reference.drop().isGone { return }
    treadle_system_native_condition_destroy(native)
    Slab(.condition).free(state.pointee.slot, UnsafeMutableRawPointer(state))
  }

  /// A new condition with the client's one reference.
  package static func create() throws(Failure) -> ClientCondition {
    try Runtime.start()
    guard let (slot, memory) = Slab(.condition).take() else { throw Failure.noMemory("condition") }
    let condition = ClientCondition(memory)
    condition.state.pointee.slot = slot
    let result = treadle_system_native_condition_create(condition.native)
    if result == 0 {
      condition.state.pointee.reference.begin(forClient: true)
      return condition
    }
    Slab(.condition).giveBack(slot, memory)
    throw Failure.system("condition", result)
  }

  package var handle: Handle {
    Handle(kind: .condition, slot: state.pointee.slot, generation: state.pointee.reference.generation)
  }

  /// Returns a reference that the client owns.
  package static func release(_ handle: UInt) throws(Failure) {
    ClientCondition(try Slab(.condition).surrender(handle, "condition")).letGo()
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
