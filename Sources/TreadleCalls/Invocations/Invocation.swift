// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
package import TreadleBase

/// A C function with its arguments, to be called on a thread, and what it returned. Counted by the `Reference` of its
/// slot; a call that is on its way has one.
package struct Invocation {
  private struct Cell: ~Copyable {
    let reference: Reference
    /// Constant while the slot is live.
    var body: UnsafeMutablePointer<InvocationBody>
    var slot: UInt32
  }

  private let cell: UnsafeMutablePointer<Cell>

  private init(_ memory: UnsafeMutableRawPointer) {
    cell = memory.assumingMemoryBound(to: Cell.self)
  }

  /// Its address, for those who hold a reference, and back.
  var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(cell) }
  init(pointer: UnsafeMutableRawPointer) { self.init(pointer) }

  var body: UnsafeMutablePointer<InvocationBody> { cell.pointee.body }
  var signature: Signature { body.pointee.signature }

  /// Makes an invocation with one reference of the client's, and all arguments 0. From here on `destroy(info)` is the
  /// invocation's.
  package static func create(
    _ signature: Signature, code: @escaping @convention(c) () -> Void,
    destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Handle {
    let count = max(signature.argumentCount, 1)
    let frameSize = max(signature.frameSize, DirectShape.frameSize)
    let resultSize = ForeignResult.room(for: signature.result.layout)
    let size =
      Arena.room(InvocationBody.self, 1) &+ Arena.room(UInt8.self, frameSize) &+ Arena.room(UInt8.self, resultSize)
      &+ Arena.room(InvocationBuffer.self, count)
    guard let block = Arena.allocate(size) else { throw Failure.noMemory("invocation") }
    var arena = Arena(block, size: size)
    guard let body = arena.take(InvocationBody.self, 1), let frame = arena.take(UInt8.self, frameSize),
      let result = arena.take(UInt8.self, resultSize), let buffers = arena.take(InvocationBuffer.self, count),
      let (slot, memory) = Slab(.invocation).take()
    else {
      Arena.free(block)
      throw Failure.noMemory("invocation")
    }
    frame.initialize(repeating: 0, count: frameSize)
    result.initialize(repeating: 0, count: resultSize)
    buffers.initialize(repeating: InvocationBuffer(), count: count)
    body.initialize(
      to: InvocationBody(
        mutex: Mutex(), signature: signature, code: code, destroy: destroy, info: info,
        frame: UnsafeMutableRawPointer(frame), result: UnsafeMutableRawPointer(result), buffers: buffers, call: nil,
        phase: CarriedCall.Phase.idle, errno: 0))
    let invocation = Invocation(memory)
    invocation.cell.pointee.body = body
    invocation.cell.pointee.slot = slot
    invocation.cell.pointee.reference.begin(forClient: true)
    return Handle(kind: .invocation, slot: slot, generation: invocation.cell.pointee.reference.generation)
  }

  // MARK: References

  /// The invocation that a client's handle means, with a reference that the caller drops.
  package static func retained(_ handle: UInt) throws(Failure) -> Invocation {
    Invocation(try Slab(.invocation).hold(handle, "invocation"))
  }

  /// Returns a reference that the client owns.
  package static func releaseForClient(_ handle: UInt) throws(Failure) {
    Invocation(try Slab(.invocation).surrender(handle, "invocation")).drop()
  }

  func awaitEnd() { cell.pointee.reference.set(Reference.Mark.awaited) }
  func abandonClients() { cell.pointee.reference.abandonClients() }

  /// Runs `body`, in which the client may end the thread: a reference that the caller holds is dropped then.
  @inline(__always)
  package func droppedIfThreadEnds<Result>(_ body: () -> Result) -> Result {
    ObjectCall.recorded(0, pointer, { Invocation(pointer: $0).drop() }, body)
  }

  func holdAgain() { cell.pointee.reference.holdAgain() }

  /// Gives up a reference that is not the client's. With the last one the client's `destroy` is called.
  package func drop() {
    let left = cell.pointee.reference.drop()
    if !left.isGone {
      if left.has(Reference.Mark.awaited) { Rest.announce() }
      return
    }
    let body = cell.pointee.body
    var destroying = Destroying(body.pointee.destroy, body.pointee.info)
    for index in 0..<body.pointee.signature.argumentCount {
      treadle_system_free(body.pointee.buffers[index].copy)
    }
    Arena.free(body)
    let slot = cell.pointee.slot
    destroying.call(for: Handle(kind: .invocation, slot: slot, generation: cell.pointee.reference.generation))
    Slab(.invocation).free(slot, UnsafeMutableRawPointer(cell))
  }
}
