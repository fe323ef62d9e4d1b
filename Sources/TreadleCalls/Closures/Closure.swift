// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// A C function pointer, made at run time: a thin handle for a slot that holds references of the client's, and one of
/// ours until the closure is drained.
package struct Closure {
  private struct Cell: ~Copyable {
    let reference: Reference
    /// Constant while the slot is live.
    var body: ClosureBody.Pointer
    var slot: UInt32
  }

  private let cell: UnsafeMutablePointer<Cell>

  private init(_ memory: UnsafeMutableRawPointer) { cell = memory.assumingMemoryBound(to: Cell.self) }

  init?(_ handle: Handle) {
    guard let memory = Slab(.closure).memory(handle.slot) else { return nil }
    self.init(memory)
  }

  var body: ClosureBody.Pointer { cell.pointee.body }
  package var handle: Handle { body.pointee.handle }
  /// The function pointer.
  package var code: UnsafeMutableRawPointer? { body.pointee.stub.slot.pointee.code }

  /// Takes the handler over on success only.
  package static func create(_ plan: ClosurePlan) throws(Failure) -> Closure {
    guard let slot = Slab(.closure).allocate(), let memory = Slab(.closure).memory(slot) else {
      throw Failure.noMemory("closure")
    }
    let closure = Closure(memory)
    do throws(Failure) {
      let stub = try StubPool.take(plan.signature, mayAllocate: plan.mayAllocate)
      do throws(Failure) {
        closure.cell.pointee.body = try ClosureBody.make(plan, stub)
      } catch {
        StubPool.putBack(stub)
        throw error
      }
      closure.cell.pointee.slot = slot
      closure.body.pointee.handle = Handle(
        kind: .closure, slot: slot, generation: closure.cell.pointee.reference.generation)
      closure.cell.pointee.reference.retainHeld()
      closure.occupy(stub, isKept: plan.keepsCode)
      return closure
    } catch {
      Slab(.closure).free(slot)
      throw error
    }
  }

  /// From here on the function pointer leads to this closure.
  private func occupy(_ stub: Stub, isKept: Bool) {
    let body = self.body
    body.pointee.owners.add(1, ordering: .relaxed)
    if let former = stub.body { ClosureBody.leaveStub(former) }
    stub.slot.pointee.body.store(UnsafeMutableRawPointer(body), ordering: .releasing)
    stub.slot.pointee.tag.store(body.pointee.tag, ordering: .releasing)
    if isKept { stub.slot.pointee.flags |= StubSlot.Flag.kept }
    stub.activate()
  }

  // MARK: References

  /// The closure that a client's handle means, until `letGo`.
  package static func hold(_ bits: UInt, _ subject: StaticString) throws(Failure) -> Closure {
    let closure = try find(bits, subject)
    guard closure.cell.pointee.reference.retain(generation: Handle(bits: bits).generation) else {
      throw Handle(bits: bits).failure(subject)
    }
    return closure
  }
  package func letGo() { drop() }

  private static func find(_ bits: UInt, _ subject: StaticString) throws(Failure) -> Closure {
    let handle = Handle(bits: bits)
    guard let memory = Slab(.closure).find(handle) else { throw handle.failure(subject) }
    return Closure(memory)
  }

  /// Adds a reference of the client's.
  package static func retainForClient(_ bits: UInt, _ subject: StaticString) throws(Failure) {
    let status = try find(bits, subject).cell.pointee.reference.retainForClient(
      generation: Handle(bits: bits).generation)
    if status == Status.range { throw Failure(status, subject, "has too many references") }
    if status < 0 { throw Handle(bits: bits).failure(subject) }
  }

  /// Returns a reference that the client owns. The last one retires the closure.
  package static func releaseForClient(_ bits: UInt, _ subject: StaticString) throws(Failure) {
    let closure = try find(bits, subject)
    guard closure.cell.pointee.reference.surrenderClient(generation: Handle(bits: bits).generation) == Status.ok else {
      throw Failure(Status.stale, subject, "has no reference that the caller owns")
    }
    if !closure.cell.pointee.reference.hasClients { _ = closure.retire() }
    closure.drop()
  }

  /// Drops one of our own references.
  func drop() {
    guard cell.pointee.reference.release() else { return }
    let body = self.body
    Slab(.closure).free(cell.pointee.slot)
    ClosureBody.drop(body)
  }
}
