// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What clients do with a handle of any kind: every object starts with its `Reference`, so one piece of code serves all.
extension Slab {
  /// The memory of the object that a client's handle means, with a reference that the caller drops.
  @inline(__always)
  package func hold(_ bits: UInt, _ subject: StaticString) throws(Failure) -> UnsafeMutableRawPointer {
    let handle = Handle(bits: bits)
    guard let memory = find(handle),
      memory.assumingMemoryBound(to: Reference.self).pointee.retain(generation: handle.generation)
    else { throw handle.failure(subject) }
    return memory
  }

  /// Adds a reference of the client's.
  package func retainForClient(_ bits: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: bits)
    guard let memory = find(handle) else { throw handle.failure(subject) }
    let status = memory.assumingMemoryBound(to: Reference.self).pointee.retainForClient(generation: handle.generation)
    if status == Status.range { throw Failure(status, subject, "has too many references") }
    if status < 0 { throw handle.failure(subject) }
  }

  /// Turns a reference that the client owns into one that the caller drops.
  package func surrender(_ bits: UInt, _ subject: StaticString) throws(Failure) -> UnsafeMutableRawPointer {
    let handle = Handle(bits: bits)
    guard let memory = find(handle) else { throw handle.failure(subject) }
    let reference = memory.assumingMemoryBound(to: Reference.self)
    guard reference.pointee.surrenderClient(generation: handle.generation) == Status.ok else {
      throw Failure(Status.stale, subject, "has no reference that the caller owns")
    }
    return memory
  }
}
