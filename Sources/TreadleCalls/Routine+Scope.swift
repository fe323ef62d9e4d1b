// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
package import TreadleBase

/// A routine that was made in a scope. Items of others may refer to it when that is closed: from then on it calls
/// nothing, and what came with it has gone back. So its calls are counted, which those of other routines are not.
extension Routine {
  /// As `indirect`: never called directly.
  consuming func scopedIndirect() -> IndirectCallback {
    IndirectCallback(
      object: UnsafeMutableRawPointer(cell),
      invoke: { object, event in
        if let object { _ = Routine(object).callScoped(event?.assumingMemoryBound(to: Event.self), result: nil) }
        return true
      },
      drop: { object in
        if let object { Routine(object).drop() }
      })
  }

  var handle: Handle {
    Handle(kind: .routine, slot: cell.pointee.slot, generation: cell.pointee.reference.generation)
  }

  /// False, with nothing called, when its scope is closed.
  func callScoped(_ event: UnsafePointer<Event>?, result: UnsafeMutableRawPointer?) -> Bool {
    // The call may give the routine up.
    cell.pointee.reference.holdAgain()
    let isOpen = beginCall()
    if isOpen {
      var call = ScopedCall(body: cell.pointee.body, event: event, result: result)
      ObjectCall.during(handle.bits, &call, UnsafeMutableRawPointer(cell), Routine.endCall) { memory in
        guard let call = memory?.assumingMemoryBound(to: ScopedCall.self).pointee else { return }
        RoutineBody.call(call.body, call.event, result: call.result)
      }
    }
    Routine.endCall(UnsafeMutableRawPointer(cell))
    return isOpen
  }

  private struct ScopedCall {
    let body: UnsafeMutablePointer<RoutineBody>
    let event: UnsafePointer<Event>?
    let result: UnsafeMutableRawPointer?
  }

  private func beginCall() -> Bool {
    cell.pointee.calls.add(1, ordering: .sequentiallyConsistent)
    return cell.pointee.ended.load(ordering: .sequentiallyConsistent) == 0
  }

  /// A call is over, or its thread ends inside of it.
  private static let endCall: ObjectCall.Abandon = { memory in
    let routine = Routine(memory)
    routine.cell.pointee.calls.subtract(1, ordering: .sequentiallyConsistent)
    let isAwaited = routine.cell.pointee.ended.load(ordering: .sequentiallyConsistent) != 0
    routine.drop()
    if isAwaited { Rest.announce() }
  }

  /// What came with it goes back once, by the first closing that finds no call of it.
  enum Destruction {
    static let none: UInt32 = 0
    static let goesOn: UInt32 = 1
    static let over: UInt32 = 2
  }

  /// Its scope is closed: no call begins any more, and no client owns it. True when no call runs, and what came with it
  /// has gone back; false while one does, or while that goes back.
  package static func endInScope(_ handle: Handle) throws(Failure) -> Bool {
    let routine = Routine(try Slab(.routine).hold(handle.bits, "routine"))
    defer { routine.drop() }
    let cell = routine.cell
    cell.pointee.ended.store(1, ordering: .sequentiallyConsistent)
    cell.pointee.reference.abandonClients()
    if cell.pointee.calls.load(ordering: .sequentiallyConsistent) != 0 { return false }
    let (isMine, before) = cell.pointee.destruction.compareExchange(
      expected: Destruction.none, desired: Destruction.goesOn, ordering: .acquiring)
    if !isMine { return before == Destruction.over }
    cell.pointee.reference.holdAgain()
    ObjectCall.recorded(handle.bits, UnsafeMutableRawPointer(cell), endDestruction) {
      if let destroy = cell.pointee.body.pointee.destroy {
        _ = ClientCall.guarded(destroy, cell.pointee.body.pointee.info)
      }
    }
    endDestruction(UnsafeMutableRawPointer(cell))
    return true
  }

  /// It has gone back, or the thread ends while it does. Other closings wait for that.
  private static let endDestruction: ObjectCall.Abandon = { memory in
    let routine = Routine(memory)
    routine.cell.pointee.destruction.store(Destruction.over, ordering: .releasing)
    routine.drop()
    Rest.announce()
  }
}
