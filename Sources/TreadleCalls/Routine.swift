// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleCore
package import TreadleBase

/// A call that is complete but for what an event supplies: code, signature, arguments. Counted by the
/// `Reference` of its slot.
package struct Routine {
  struct Cell: ~Copyable {
    let reference: Reference
    /// Constant while the slot is live.
    var body: UnsafeMutablePointer<RoutineBody>
    var slot: UInt32
    /// Constant: it was made in a scope, which may end it before its last reference goes (`Routine+Scope.swift`).
    var isScoped: Bool
    /// How many calls of it run; of a scoped one.
    let calls: Atomic<UInt32>
    /// Not 0: its scope is closed, and no call begins.
    let ended: Atomic<UInt32>
    /// Whether its scope has given back what came with it (`Destruction`).
    let destruction: Atomic<UInt32>
  }

  let cell: UnsafeMutablePointer<Cell>

  init(_ memory: UnsafeMutableRawPointer) {
    cell = memory.assumingMemoryBound(to: Cell.self)
  }

  /// Gives a finished body its slot; nil when there is none left.
  static func publish(_ body: UnsafeMutablePointer<RoutineBody>) -> Handle? {
    guard let (slot, memory) = Slab(.routine).take() else { return nil }
    let routine = Routine(memory)
    routine.cell.pointee.body = body
    Slab(.routine).checkRoom(for: Cell.self)
    routine.cell.pointee.slot = slot
    routine.cell.pointee.isScoped = treadle_system_thread().pointee.scope != nil
    routine.cell.pointee.calls.store(0, ordering: .relaxed)
    routine.cell.pointee.ended.store(0, ordering: .relaxed)
    routine.cell.pointee.destruction.store(Destruction.none, ordering: .relaxed)
    routine.cell.pointee.reference.begin(forClient: true)
    return Handle(kind: .routine, slot: slot, generation: routine.cell.pointee.reference.generation)
  }

  var body: UnsafeMutablePointer<RoutineBody> { cell.pointee.body }

  // MARK: References

  /// The routine that a client's handle means, with a reference that the caller drops.
  @inline(__always)
  package static func retained(_ handle: UInt, _ subject: StaticString) throws(Failure) -> Routine {
    let routine = Routine(try Slab(.routine).hold(handle, subject))
    if routine.cell.pointee.ended.load(ordering: .relaxed) == 0 { return routine }
    routine.drop()
    throw closedFailure(subject)
  }
  package static func closedFailure(_ subject: StaticString) -> Failure {
    Failure(Status.stale, subject, "belonged to a scope that is closed")
  }

  /// Returns a reference that the client owns.
  package static func releaseForClient(_ handle: UInt) throws(Failure) {
    Routine(try Slab(.routine).surrender(handle, "routine")).drop()
  }

  /// Gives up a reference that is not the client's. With the last one the client's `destroy` is called. The life is
  /// over when that has returned: the close of the routine's scope waits for it.
  package func drop() {
    guard cell.pointee.reference.drop().isGone else { return }
    let body = cell.pointee.body
    // The thread that has set it has dropped a reference since.
    let isDestroyed = cell.pointee.destruction.load(ordering: .relaxed) != Destruction.none
    var destroying = Destroying(isDestroyed ? nil : body.pointee.destroy, body.pointee.info)
    Arena.free(body)
    destroying.call(for: handle)
    Slab(.routine).free(cell.pointee.slot, UnsafeMutableRawPointer(cell))
  }

  /// The routine as the core's items see it; takes over the caller's reference.
  package consuming func indirect() -> IndirectCallback {
    if cell.pointee.isScoped { return scopedIndirect() }
    let direct = cell.pointee.body.pointee.direct
    return IndirectCallback(
      object: UnsafeMutableRawPointer(cell),
      invoke: { object, event in
        guard let object else { return false }
        Routine(object).call(event?.assumingMemoryBound(to: Event.self), result: nil)
        return true
      },
      drop: { object in
        guard let object else { return }
        Routine(object).drop()
      },
      direct: direct)
  }

  // MARK: Calling

  /// What the function returns.
  package var result: SignatureValue { cell.pointee.body.pointee.signature.result }

  /// Calls the function. Without an event the arguments that it would supply are 0. `result` has room for
  /// the result's type; nil drops the result. False, with nothing called, if its scope was closed meanwhile.
  @inline(__always)
  @discardableResult
  package func call(_ event: UnsafePointer<Event>?, result: UnsafeMutableRawPointer?) -> Bool {
    if cell.pointee.isScoped { return callScoped(event, result: result) }
    RoutineBody.call(cell.pointee.body, event, result: result)
    return true
  }
}
