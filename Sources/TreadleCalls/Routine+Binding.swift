// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// Routines that are bound: held, and counted apart from the client's references, so that who releases a binding twice
/// takes no reference that is somebody else's.
extension Routine {
  /// As many as leave room for the references of items and of calls.
  private static let mostBindings: UInt32 = 1 << 19

  /// The routine with one binding more.
  package static func bind(_ handle: UInt, resultSize: Int) throws(Failure) -> BoundCall {
    let routine = try retained(handle, "routine")
    do throws(Failure) {
      guard resultSize == 0 || resultSize == routine.result.layout.size else {
        throw Failure(Status.range, "result_size", "is neither 0 nor the size of the result's type")
      }
      try routine.countBinding()
      return BoundCall(routine.body, dropsResult: resultSize == 0)
    } catch {
      routine.drop()
      throw error
    }
  }

  /// Gives a binding up.
  package static func unbind(_ handle: UInt) throws(Failure) {
    let routine = try retained(handle, "call.routine")
    defer { routine.drop() }
    guard routine.uncountBinding() else { throw notBound }
    routine.drop()
  }

  package static var notBound: Failure { Failure(Status.stale, "call", "is not bound to a routine") }

  private func countBinding() throws(Failure) {
    if cell.pointee.bindings.add(1, ordering: .relaxed).oldValue < Routine.mostBindings { return }
    cell.pointee.bindings.subtract(1, ordering: .relaxed)
    throw Failure(Status.range, "routine", "has too many bound calls")
  }

  /// False when there is none.
  private func uncountBinding() -> Bool {
    var now = cell.pointee.bindings.load(ordering: .relaxed)
    while now != 0 {
      // Relaxed, as the reference that goes with it is given up in an order of its own.
      let (exchanged, original) = cell.pointee.bindings.weakCompareExchange(
        expected: now, desired: now &- 1, ordering: .relaxed)
      if exchanged { return true }
      now = original
    }
    return false
  }
}
