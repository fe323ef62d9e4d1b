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
    guard let (slot, memory) = Slab(.closure).take() else { throw Failure.noMemory("closure") }
    let closure = Closure(memory)
    do throws(Failure) {
      let stub = try StubPool.take(plan)
      do throws(Failure) {
        closure.cell.pointee.body = try ClosureBody.make(plan, stub)
      } catch {
        StubPool.putBack(stub)
        throw error
      }
      closure.cell.pointee.slot = slot
      closure.body.pointee.handle = Handle(
        kind: .closure, slot: slot, generation: closure.cell.pointee.reference.generation)
      closure.cell.pointee.reference.begin(forClient: true)
      closure.cell.pointee.reference.holdAgain()
      closure.occupy(stub)
      return closure
    } catch {
      Slab(.closure).giveBack(slot, memory)
      throw error
    }
  }

  /// From here on the function pointer leads to this closure. The slot names a whole body at every moment, which the
  /// child of a fork inherits: the former one is left only when the slot names it no more.
  private func occupy(_ stub: Stub) {
    let body = self.body
    body.pointee.owners.add(1, ordering: .relaxed)
    // Before the body is named: a call that finds an earlier life's tag behind the body has found an earlier life's
    // body.
    stub.slot.pointee.tag.store(body.pointee.tag, ordering: .releasing)
    let former = stub.name(body)
    if let former { ClosureBody.leaveStub(former) }
    if body.pointee.isKept { stub.slot.pointee.flags |= StubSlot.Flag.kept }
    stub.activate()
  }

  // MARK: References

  /// The closure that a client's handle means, with a reference that the caller drops.
  package static func retained(_ handle: UInt) throws(Failure) -> Closure {
    Closure(try Slab(.closure).hold(handle, "closure"))
  }

  /// Returns a reference that the client owns. The last one retires the closure.
  package static func releaseForClient(_ handle: UInt) throws(Failure) {
    let closure = Closure(try Slab(.closure).surrender(handle, "closure"))
    if closure.cell.pointee.reference.seen.clients == 0 { _ = closure.droppedIfThreadEnds { closure.retire() } }
    closure.drop()
  }

  func awaitEnd() { cell.pointee.reference.set(Reference.Mark.awaited) }
  func abandonClients() { cell.pointee.reference.abandonClients() }

  /// Runs `body`, which may call clients: where one of them ends the thread, a reference that the caller holds is
  /// dropped.
  package func droppedIfThreadEnds<Result, Refusal: Error>(_ body: () throws(Refusal) -> Result) throws(Refusal)
    -> Result
  {
    try ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Closure.self).pointee.drop() }, body)
  }

  /// Drops one of our own references.
  package func drop() {
    let left = cell.pointee.reference.drop()
    if !left.isGone {
      if left.has(Reference.Mark.awaited) { Rest.announce() }
      return
    }
    let body = self.body
    Slab(.closure).free(cell.pointee.slot, UnsafeMutableRawPointer(cell))
    SharedTombstone.replace(body)
    ClosureBody.drop(body)
  }
}
